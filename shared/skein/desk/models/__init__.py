"""Define the stays of chats on the desk."""

__all__ = [
    "stay",
]
