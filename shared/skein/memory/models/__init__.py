"""Define memories and records of consolidation and reflection."""

__all__ = [
    "memory",
    "records",
]
