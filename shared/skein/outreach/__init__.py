"""Outreach: agents write to many people for an operator, once to each, at the line's rate.

Other packages use `outreaches.Outreaches`, `reports.OutreachReports` and `sending.OutreachSender`.
`services/chats/first_contact.py` opens the chat of each person, and `Chat.contact_order` has the
data that the prompts of that chat show.
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
