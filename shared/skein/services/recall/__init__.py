"""Find old messages by meaning, words and people."""

__all__ = [
    "block_commit",
    "candidates",
    "indexing",
    "layout",
    "pruning",
    "rebuild",
    "recall_worker",
    "search",
    "time_phrases",
    "words",
]
