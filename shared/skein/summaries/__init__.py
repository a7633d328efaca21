"""Renew agent summaries, chat summaries and titles when they are stale."""

__all__ = [
    "renewal",
    "upkeep",
]
