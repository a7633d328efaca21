"""Share optimistic locks, pagination, quoting, cron times and circuit breakers."""

__all__ = [
    "circuit_breaker",
    "cursors",
    "guarded",
    "model_json",
    "owned_lists",
    "paging",
    "parallel",
    "quoting",
    "retrying",
    "revisions",
    "schedule",
]
