"""The stored tools of tenants."""

__all__ = ["approval", "recorded_call", "server_tool", "tool"]
