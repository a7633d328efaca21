"""Keep goals and plans, and fire the plans that are due."""

__all__ = [
    "api",
    "firing",
    "goals",
    "models",
    "plan_chats",
    "plans",
    "sections",
    "tools",
]
