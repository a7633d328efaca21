"""The bodies of HTTP requests and responses of the core."""

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
