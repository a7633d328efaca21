"""Render documents, threads and skills for prompts."""

__all__ = [
    "document_text",
    "documents",
    "skills",
    "threads",
]
