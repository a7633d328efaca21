"""Provide optimistic locks, pagination, quoting, cron times and circuit breakers."""

__all__ = [
    "circuit_breaker",
    "model_json",
    "optimistic",
    "pagination",
    "parallel",
    "quoting",
    "schedule",
]
