"""The bodies of HTTP requests and responses of the core."""

__all__ = [
    "base",
    "chats",
    "choices",
    "directory",
    "inspection",
    "number_codes",
    "open_choices",
    "pauses",
    "reasons",
    "runs",
    "system",
    "text_consents",
    "usage",
]
