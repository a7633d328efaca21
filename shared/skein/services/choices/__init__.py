"""Ask a person a question, and match the person's answer to it by code, without the model."""

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
