"""Find old messages by meaning, words and people."""

__all__ = [
    "api",
    "candidates",
    "indexing",
    "message_search",
    "models",
    "passage_commit",
    "passages",
    "preview",
    "pruning",
    "query",
    "ranking",
    "rebuild",
    "recall_worker",
    "search",
    "sections",
    "sweep",
    "tools",
    "words",
]
