"""Ask one person a question, and take the answer, which is matched by code."""

__all__ = [
    "answering",
    "asking",
    "codes",
    "consents",
    "effect",
    "ending",
    "invitation_texts",
    "invitations",
    "open_choices",
    "proposals",
    "typed_answers",
    "wording",
]
