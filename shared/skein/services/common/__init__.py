"""Provide optimistic locks, pagination, quoting, cuts of texts, times and circuit breakers."""

__all__ = [
    "circuit_breaker",
    "model_json",
    "optimistic",
    "pagination",
    "quoting",
    "schedule",
    "text_search",
    "token_cache",
    "words",
]
