"""Define token buckets and usage counters."""

__all__ = [
    "limit",
    "prices",
    "usage",
]
