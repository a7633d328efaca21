"""Read a chat with its members, and derive its session and history window."""

__all__ = [
    "activity",
    "closed_memberships",
    "desk_stays",
    "history_window",
    "person_choices",
    "pictures",
    "sessions",
    "snapshot",
]
