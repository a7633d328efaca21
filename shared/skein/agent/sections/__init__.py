"""The sections of the core, and the order of all sections in a prompt."""

__all__ = [
    "basics",
    "borrowed",
    "builder",
    "order",
    "other_conversations",
    "participants",
    "trigger",
    "your_chats",
]
