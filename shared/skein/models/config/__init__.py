"""Models of the settings that agents, lines, tenants and the stack can override."""

__all__ = [
    "desk",
    "guardrail",
    "overrides",
    "pauses",
    "templates",
]
