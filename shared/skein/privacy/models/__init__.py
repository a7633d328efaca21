"""Define erasures, forgettings and entries of the audit log."""

__all__ = [
    "audit",
    "erasure",
    "forgetting",
    "registered_erasure",
]
