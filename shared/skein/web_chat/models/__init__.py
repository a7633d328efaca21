"""The stored models of the web chat."""

__all__ = ["widget"]
