"""Send the jobs that follow a commit, and send again everything that is due."""

__all__ = [
    "background_scanner",
    "backlogs",
    "dispatch",
    "pause_scanner",
    "tick",
]
