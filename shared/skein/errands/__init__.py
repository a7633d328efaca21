"""Errands: an agent asks a person a question for someone else, and reports the answer verbatim.

Other packages use `errand_work.ErrandWorker`, `meeting_work.MeetingWorker` and `views.ErrandViews`.
The effects of answers to an errand's question are in `effects`.
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
