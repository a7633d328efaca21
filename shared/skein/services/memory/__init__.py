"""Save, search, consolidate and reflect on memories."""

__all__ = [
    "agent_consolidation",
    "chunk_commit",
    "consolidation_schedule",
    "consolidation_worker",
    "extraction",
    "finder",
    "history",
    "memories",
    "reflection_worker",
    "search",
    "store",
]
