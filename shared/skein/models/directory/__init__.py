"""Models of agents, users, lines, addresses and webhook services."""

__all__ = [
    "address_index",
    "agent",
    "assigned_number",
    "keyed_call",
    "line",
    "number_code",
    "opted_out_number",
    "phone_number",
    "profile_change",
    "role",
    "user",
    "webhook_service",
]
