"""Save, search, consolidate and reflect on memories."""

__all__ = [
    "api",
    "consolidation",
    "history",
    "memories",
    "models",
    "reflection",
    "sections",
    "tools",
]
