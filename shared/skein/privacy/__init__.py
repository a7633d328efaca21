"""Erase and export the data of a person, and keep the audit log."""

__all__ = [
    "api",
    "audit_log",
    "erasure_preview",
    "erasure_requests",
    "erasure_worker",
    "export",
    "forgetting",
    "message_deletion",
    "models",
    "tools",
]
