"""Outreach: agents write to many people for an operator, each once, at the pace of the line.

Others use `outreaches.Outreaches`, `reports.OutreachReports` and `sending.OutreachSender`. The core
opens the chat of each person (`services/chats/first_contact.py`), and `Chat.contact_order` has
what the prompts of that chat show.
"""

__all__ = [
    "api",
    "erasing",
    "models",
    "outreaches",
    "reports",
    "sections",
    "sending",
]
