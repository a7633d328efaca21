"""Send the jobs that follow a commit, and send the jobs of due items again."""

__all__ = [
    "background_scanner",
    "backlogs",
    "dispatch",
    "pause_scanner",
    "tick",
]
