"""Store documents, threads and skills, and select them for a piece of work."""

__all__ = [
    "document_edits",
    "document_names",
    "document_search",
    "documents",
    "pinning",
    "skill_selection",
    "skills",
    "thread_changes",
    "threads",
]
