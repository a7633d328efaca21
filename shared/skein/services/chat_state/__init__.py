"""Read a chat with its members, and derive its audience, session and history window."""

__all__ = [
    "activity",
    "audience",
    "closed_memberships",
    "desk_stays",
    "history_window",
    "insiders",
    "person_choices",
    "pictures",
    "sessions",
    "sharing",
    "sharing_reads",
    "sharing_rules",
    "snapshot",
]
