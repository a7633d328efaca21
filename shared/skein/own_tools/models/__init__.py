"""The stored tools of tenants."""

__all__ = ["approval", "breaker", "recorded_call", "server_tool", "tool"]
