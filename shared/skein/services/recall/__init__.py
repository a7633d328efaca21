"""Find old messages by meaning, words and people."""

__all__ = [
    "block_commit",
    "indexing",
    "ranking",
    "rebuild",
    "recall_worker",
    "words",
]
