"""Save, search, consolidate and reflect on memories."""

__all__ = [
    "agent_consolidation",
    "chunk_commit",
    "consolidation_finder",
    "consolidation_requests",
    "consolidation_schedule",
    "consolidation_worker",
    "extraction",
    "memories",
    "reflection_finder",
    "reflection_history",
    "reflection_worker",
    "search",
    "store",
]
