"""Define erasures and entries of the audit log."""

__all__ = [
    "audit",
    "erasure",
    "registered_erasure",
]
