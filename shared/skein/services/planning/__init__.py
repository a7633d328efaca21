"""Keep goals and plans, and fire the plans that are due."""

__all__ = [
    "firing",
    "goals",
    "plans",
    "quiet_times",
]
