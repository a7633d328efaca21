"""Define tickets and connections of the live channel, and devices."""

__all__ = [
    "connection",
    "device",
]
