"""Errands: an agent asks a person something for somebody, and brings back the words of the answer.

Others use `errand_work.ErrandWorker` and `views.ErrandViews`. The record is in the core
(`models/chats/errand.py`), because the answer to a choice writes it.
"""

__all__ = ["api", "errand_work", "sections", "tools", "views"]
