"""Keep documents, threads and skills."""

__all__ = [
    "document_changes",
    "document_names",
    "documents",
    "pinning",
    "skill_selection",
    "skills",
    "thread_changes",
    "thread_writes",
    "threads",
]
