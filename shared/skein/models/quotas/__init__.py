"""Models of token buckets, permits, usage counters and prices."""

__all__ = [
    "limit",
    "permits",
    "prices",
    "usage",
]
