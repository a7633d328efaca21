"""The reads of a prompt, which merge what all sections need."""

__all__ = [
    "cache",
    "expected_answer",
    "held_content",
    "loader",
    "reader",
]
