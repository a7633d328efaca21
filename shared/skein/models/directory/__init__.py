"""Define agents, users, lines, phone numbers and webhook services."""

__all__ = [
    "agent",
    "line",
    "phone",
    "phone_number",
    "user",
    "webhook_service",
]
