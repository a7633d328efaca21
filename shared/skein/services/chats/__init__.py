"""Post messages into chats, and create, change and read chats."""

__all__ = [
    "administration",
    "app_messages",
    "consolidation_schedule",
    "desk_requests",
    "first_contact",
    "invitations",
    "line_chats",
    "message_reasons",
    "own_chats",
    "post_message",
    "posted_media",
    "staleness",
    "views",
]
