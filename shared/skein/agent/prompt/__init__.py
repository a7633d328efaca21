"""What the sections of a prompt are made of: readings, names, texts, token counts."""

__all__ = [
    "budget",
    "document_text",
    "names",
    "payload",
    "reading",
    "section",
    "spoken_start",
    "spoken_text",
    "timeline",
]
