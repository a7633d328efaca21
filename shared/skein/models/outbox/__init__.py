"""Models of due pointers, and of the jobs in the queues."""

__all__ = [
    "changes",
    "due",
    "jobs",
]
