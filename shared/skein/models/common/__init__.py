"""Define base classes, keys, audiences and owners that all models use."""

__all__ = [
    "agent_item",
    "audience",
    "base",
    "embedding",
    "free_fields",
    "json_types",
    "ownership",
    "quiet_hours",
    "reason",
    "storage",
    "time_zone",
]
