"""Errands: an agent asks a person something for somebody, and brings back the words of the answer.

Others use `errand_work.ErrandWorker`, `meeting_work.MeetingWorker` and `views.ErrandViews`. The
records are in the core (`models/chats/errand.py`, `meeting.py`), because the answer to a choice
writes them.
"""

__all__ = ["api", "erasing", "errand_work", "meeting_work", "sections", "tools", "views"]
