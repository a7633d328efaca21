"""Provide optimistic locks, pagination, quoting, cuts of texts, times and circuit breakers."""

__all__ = [
    "circuit_breaker",
    "model_json",
    "name_index",
    "optimistic",
    "pagination",
    "profile_changes",
    "quoting",
    "schedule",
    "text_cuts",
    "text_search",
    "time_zones",
    "token_cache",
    "words",
]
