"""What all kinds of items that an agent keeps have in common."""

__all__ = [
    "agent_item",
]
