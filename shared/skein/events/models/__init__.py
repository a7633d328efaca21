"""Define the stored items of events: endpoints, and events that are queued or parked."""

__all__ = [
    "endpoint",
    "event",
    "lanes",
]
