"""Define due pointers and the jobs of the queues."""

__all__ = [
    "due",
    "jobs",
]
