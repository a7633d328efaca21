"""The reading, which is the data that a prompt is built from."""

__all__ = [
    "cache",
    "expected_answer",
    "held_content",
    "history",
    "loader",
    "other_chats",
    "prefetch",
    "reader",
    "reading",
    "recalled",
    "trigger",
    "workspace",
]
