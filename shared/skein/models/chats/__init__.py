"""Models of chats, memberships and messages, and of the records about them."""

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
