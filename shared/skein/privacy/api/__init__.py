"""Define how the API shows erasures, exports and the audit log."""

__all__ = [
    "audit",
    "privacy",
]
