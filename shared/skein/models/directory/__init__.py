"""Define agents, users, lines, phone numbers and webhook services."""

__all__ = [
    "agent",
    "line",
    "name_index",
    "phone",
    "phone_number",
    "profile_change",
    "user",
    "webhook_service",
]
