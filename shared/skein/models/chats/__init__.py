"""Define chats, memberships, messages and what is stored about them."""

__all__ = [
    "borrowed",
    "chat",
    "choice",
    "consent",
    "consolidation",
    "desk",
    "desk_stay",
    "idempotency",
    "media",
    "membership",
    "names",
    "outreach",
    "person_choices",
    "session",
    "summary",
]
