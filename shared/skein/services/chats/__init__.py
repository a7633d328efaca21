"""Post messages into chats, and create, change and read chats."""

__all__ = [
    "administration",
    "app_messages",
    "post_message",
    "views",
]
