"""Errands: an agent asks a person something for somebody, and brings back the words of the answer.

Others use `errand_work.ErrandWorker`, `meeting_work.MeetingWorker` and `views.ErrandViews`. What
an answer to an errand's question causes is in `effects`.
"""

__all__ = [
    "api",
    "erasing",
    "errand_work",
    "meeting_work",
    "merging",
    "models",
    "sections",
    "tools",
    "views",
]
