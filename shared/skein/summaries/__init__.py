"""Renew agent summaries and chat summaries when they are stale."""

__all__ = [
    "renewal",
    "upkeep",
]
