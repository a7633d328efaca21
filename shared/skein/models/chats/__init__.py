"""Define chats, memberships, messages and the records about them."""

__all__ = [
    "borrowed",
    "chat",
    "choice",
    "consent",
    "consolidation",
    "contact_order",
    "desk",
    "desk_stay",
    "idempotency",
    "media",
    "membership",
    "names",
    "origin",
    "person_choices",
    "session",
    "summary",
]
