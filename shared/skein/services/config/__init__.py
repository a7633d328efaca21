"""Resolve the settings of a chat, and keep the settings of tenants and the stack."""

__all__ = [
    "message_templates",
    "pauses",
    "resolution",
    "retention",
    "services_key",
    "sources",
    "stack_settings",
    "tenant_settings",
]
