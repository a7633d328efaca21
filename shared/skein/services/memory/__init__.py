"""Save, search, consolidate and reflect on memories."""

__all__ = [
    "chunk_commit",
    "consolidation",
    "consolidation_schedule",
    "history",
    "memories",
    "reflection",
    "search",
    "shown",
]
