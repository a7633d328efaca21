"""Define tickets, connections and frames of the live channel."""

__all__ = [
    "connection",
]
