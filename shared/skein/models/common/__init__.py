"""Define base classes, keys, audiences, provenance and owners that all models use."""

__all__ = [
    "address",
    "agent_item",
    "audience",
    "base",
    "embedding",
    "file",
    "free_fields",
    "http",
    "image_models",
    "json_types",
    "ownership",
    "person_names",
    "provenance",
    "quiet_hours",
    "reason",
    "requested_call",
    "storage",
    "time_zone",
    "vector_search",
    "working_hours",
]
