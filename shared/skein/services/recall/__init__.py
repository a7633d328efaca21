"""Find old messages by meaning, words and people."""

__all__ = [
    "block_commit",
    "indexing",
    "pruning",
    "ranking",
    "rebuild",
    "recall_worker",
    "words",
]
