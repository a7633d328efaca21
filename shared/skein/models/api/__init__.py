"""The bodies of HTTP requests and responses, one module per subject."""

__all__ = [
    "base",
    "chats",
    "directory",
    "inspection",
    "pauses",
    "reasons",
    "runs",
    "system",
    "usage",
]
