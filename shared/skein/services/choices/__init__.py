"""Ask a person a question, and find the question that an answer is for, without a model."""

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
