"""Sections of the core, and the order of all sections in a prompt."""

__all__ = [
    "basics",
    "borrowed",
    "builder",
    "order",
    "participants",
    "trigger",
    "your_chats",
]
