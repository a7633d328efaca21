"""Define what is stored for events: endpoints, and the events on their way."""

__all__ = [
    "endpoint",
    "event",
    "lanes",
]
