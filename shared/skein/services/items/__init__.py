"""Store the items that agents keep until the items end: memories, goals, plans and threads."""

__all__ = [
    "store",
]
