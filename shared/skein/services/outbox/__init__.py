"""Queue the jobs of a committed transaction, and queue them again while their items are overdue."""

__all__ = [
    "background_scanner",
    "backlogs",
    "dispatch",
    "pause_scanner",
    "tick",
]
