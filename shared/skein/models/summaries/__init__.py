"""Define agent summaries and chat summaries."""

__all__ = [
    "summary",
]
