"""Define chats, memberships, messages and what is stored about them."""

__all__ = [
    "borrowed",
    "chat",
    "consolidation",
    "idempotency",
    "membership",
    "names",
    "session",
    "summary",
]
