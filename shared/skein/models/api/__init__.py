"""The bodies of HTTP requests and responses of the core."""

__all__ = [
    "base",
    "chats",
    "choices",
    "directory",
    "inspection",
    "open_choices",
    "pauses",
    "reasons",
    "runs",
    "system",
    "usage",
]
