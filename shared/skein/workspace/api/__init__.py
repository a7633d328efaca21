"""Define how the API shows documents and threads."""

__all__ = [
    "documents",
    "threads",
]
