"""The stored tools of tenants."""

__all__ = ["approval", "tool"]
