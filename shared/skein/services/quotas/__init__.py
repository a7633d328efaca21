"""Limit how much people may send and how many tokens models may use."""

__all__ = [
    "background_budget",
    "rate_limits",
    "token_budget",
    "usage",
]
