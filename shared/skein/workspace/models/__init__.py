"""Define documents, threads and skills."""

__all__ = [
    "document",
    "skill",
    "thread",
]
