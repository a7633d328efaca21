"""Define the blocks of messages by which recall finds old messages."""

__all__ = [
    "block",
]
