"""The stored sources of a tenant, and the list of the indexes that prompts search."""

__all__ = ["source"]
