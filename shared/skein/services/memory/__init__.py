"""Save, search, consolidate and reflect on memories."""

__all__ = [
    "consolidation",
    "consolidation_schedule",
    "history",
    "memories",
    "reflection",
    "search",
    "shown",
]
