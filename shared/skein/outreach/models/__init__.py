"""Define outreach and its people."""

__all__ = [
    "outreach",
]
