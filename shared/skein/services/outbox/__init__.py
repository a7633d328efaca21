"""Send the jobs that follow a commit, and send again everything that is due."""

__all__ = [
    "backlogs",
    "dispatch",
    "due_scanner",
    "pause_scanner",
    "tick",
]
