"""Request and response bodies of the HTTP API, except those of features with their own package."""

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
