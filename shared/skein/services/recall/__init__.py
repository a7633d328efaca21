"""Find old messages by meaning, words and people."""

__all__ = [
    "ranking",
    "words",
]
