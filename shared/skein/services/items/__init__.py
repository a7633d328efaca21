"""Store the items that agents keep until they end: memories, goals, plans and threads."""

__all__ = [
    "store",
]
