"""Read everything from which a prompt is built, with few calls for all sections together."""

__all__ = [
    "cache",
    "expected_answer",
    "held_content",
    "loader",
    "reader",
]
