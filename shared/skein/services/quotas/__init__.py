"""Limit how many messages people may send and how many tokens models may use."""

__all__ = [
    "background_calls",
    "money",
    "rate_limits",
    "token_budget",
    "usage",
    "usage_reports",
]
