"""Find old messages by meaning, words and people."""

__all__ = [
    "api",
    "block_commit",
    "candidates",
    "indexing",
    "message_search",
    "models",
    "passages",
    "preview",
    "pruning",
    "rebuild",
    "recall_worker",
    "search",
    "sections",
    "sweep",
    "tools",
    "words",
]
