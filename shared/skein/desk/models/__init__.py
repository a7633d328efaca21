"""Define the stored items of the desk, apart from the chat's own state."""

__all__ = [
    "canned_answer",
]
