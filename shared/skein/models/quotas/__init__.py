"""Define token buckets and usage counters."""

__all__ = [
    "limit",
    "permits",
    "prices",
    "usage",
]
