"""Keep agents, users and lines, with their display names and phone numbers."""

__all__ = [
    "agents",
    "lines",
    "naming",
    "number_detach",
    "phone_numbers",
    "profiles",
    "renaming",
    "users",
]
