"""Define chats, memberships, messages and what is stored about them."""

__all__ = [
    "borrowed",
    "chat",
    "consolidation",
    "idempotency",
    "names",
    "session",
    "summary",
]
