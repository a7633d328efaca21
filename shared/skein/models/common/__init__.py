"""Define base classes, keys and values that all models use."""

__all__ = [
    "active_item",
    "address",
    "base",
    "breaker",
    "characters",
    "effects",
    "embedding",
    "file",
    "free_fields",
    "http",
    "image_models",
    "json_types",
    "person_names",
    "prompt_sections",
    "quiet_hours",
    "reason",
    "retry",
    "storage",
    "vector_search",
    "working_hours",
]
