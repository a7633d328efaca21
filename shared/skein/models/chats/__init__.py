"""Define chats, memberships, messages and what is stored about them."""

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
    "person_choices",
    "session",
    "summary",
]
