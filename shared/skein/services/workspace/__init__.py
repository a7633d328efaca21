"""Keep documents, threads and skills."""

__all__ = [
    "document_edits",
    "document_names",
    "documents",
    "pinning",
    "skill_selection",
    "skills",
    "thread_changes",
    "thread_storage",
    "threads",
]
