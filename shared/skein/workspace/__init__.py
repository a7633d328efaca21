"""Store documents, threads and skills, and select skills for a piece of work."""

__all__ = [
    "api",
    "document_edits",
    "document_names",
    "document_search",
    "documents",
    "models",
    "pinning",
    "sections",
    "skills",
    "threads",
    "tools",
]
