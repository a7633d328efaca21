"""Define due pointers and the jobs of the queues."""

__all__ = [
    "changes",
    "due",
    "jobs",
]
