"""Renew agent summaries and chat summaries when they are stale."""

__all__ = [
    "agent_summary",
    "chat_summary",
    "chat_title",
    "renewal",
    "staleness",
    "upkeep",
]
