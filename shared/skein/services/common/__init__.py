"""Provide optimistic locks, pagination, quoting, cuts of texts, cron times and circuit breakers."""

__all__ = [
    "circuit_breaker",
    "model_json",
    "optimistic",
    "pagination",
    "parallel",
    "profile_changes",
    "quoting",
    "schedule",
    "text_cuts",
]
