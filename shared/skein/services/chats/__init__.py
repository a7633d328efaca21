"""Post messages into chats, and create, change and read chats."""

__all__ = [
    "administration",
    "app_messages",
    "message_reasons",
    "message_search",
    "own_chats",
    "post_message",
    "views",
]
