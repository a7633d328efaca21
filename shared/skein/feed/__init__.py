"""Turn the table's changes into jobs."""

__all__ = [
    "feed",
]
