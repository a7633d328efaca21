"""Define settings that agents, lines, tenants and the stack can override."""

__all__ = [
    "desk",
    "overrides",
    "pauses",
    "templates",
]
