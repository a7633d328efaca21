"""Resolve the settings that hold in a chat, and keep the settings of tenants."""

__all__ = [
    "resolution",
    "retention",
    "rollout",
    "tenant_settings",
]
