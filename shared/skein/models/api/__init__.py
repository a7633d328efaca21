"""The bodies of HTTP requests and responses, one module per subject."""

__all__ = [
    "audit",
    "base",
    "chats",
    "consolidations",
    "directory",
    "documents",
    "goals_and_plans",
    "inspection",
    "live",
    "memories",
    "pauses",
    "privacy",
    "reasons",
    "recall",
    "reflections",
    "runs",
    "services",
    "system",
    "threads",
    "usage",
]
