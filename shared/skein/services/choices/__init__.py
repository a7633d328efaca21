"""Ask one person a question, and take the answer, which code matches."""

__all__ = [
    "answering",
    "asking",
    "codes",
    "consents",
    "ending",
    "invitations",
    "open_choices",
    "own_rules",
    "proposals",
    "wording",
]
