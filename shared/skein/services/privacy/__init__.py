"""Erase and export the data of a person, and keep the audit log."""

__all__ = [
    "audit_log",
    "erasure_agent_data",
    "erasure_look_ups",
    "erasure_memberships",
    "erasure_messages",
    "erasure_register",
    "erasure_requests",
    "erasure_restore",
    "erasure_run_search",
    "erasure_runs",
    "erasure_worker",
    "export",
    "message_deletion",
]
