"""The sections of a prompt: one module says which items a section shows, and how."""

__all__ = [
    "basics",
    "borrowed",
    "builder",
    "order",
    "participants",
    "trigger",
    "your_chats",
]
