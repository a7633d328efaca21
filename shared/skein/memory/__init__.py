"""Memories of agents: save them, search them, make them from messages, and keep important ones."""

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
