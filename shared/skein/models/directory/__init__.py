"""Define agents, users, lines, phone numbers and webhook services."""

__all__ = [
    "agent",
    "line",
    "phone",
    "phone_number",
    "source",
    "user",
]
