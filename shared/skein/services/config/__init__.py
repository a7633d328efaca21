"""Resolve the settings of a chat, and keep the settings of tenants and the stack."""

__all__ = [
    "resolution",
    "retention",
    "rollout",
    "tenant_settings",
]
