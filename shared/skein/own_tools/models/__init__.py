"""The stored tools of tenants."""

__all__ = ["approval", "server_tool", "tool"]
