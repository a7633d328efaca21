"""Limit how many messages people may send and how many tokens models may use."""

__all__ = [
    "money",
    "rate_limits",
    "read_limits",
    "segment_limits",
    "token_budget",
    "usage",
    "usage_reports",
]
