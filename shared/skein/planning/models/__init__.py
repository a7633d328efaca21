"""Define goals and plans."""

__all__ = [
    "goal",
    "plan",
]
