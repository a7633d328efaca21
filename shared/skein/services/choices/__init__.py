"""Ask one person a question, and take the answer, which code matches."""

__all__ = [
    "answering",
    "asking",
    "codes",
    "consents",
    "effect",
    "ending",
    "invitations",
    "open_choices",
    "proposals",
    "typed_answers",
    "wording",
]
