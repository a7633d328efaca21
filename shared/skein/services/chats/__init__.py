"""Post messages into chats, and create, change and read chats."""

__all__ = [
    "administration",
    "app_messages",
    "own_chats",
    "post_message",
    "views",
]
