"""Provide optimistic locks, pagination, quoting, text search, times and circuit breakers."""

__all__ = [
    "circuit_breaker",
    "model_json",
    "optimistic",
    "pagination",
    "quoting",
    "schedule",
    "text_index",
    "text_search",
    "token_cache",
    "words",
]
