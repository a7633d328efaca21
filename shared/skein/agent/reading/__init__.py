"""The reads for a prompt, which fetch what all sections need together."""

__all__ = [
    "cache",
    "expected_answer",
    "held_content",
    "loader",
    "reader",
]
