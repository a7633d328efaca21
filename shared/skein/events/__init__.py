"""Notify operators' services of what has happened, with signed events."""

__all__ = [
    "api",
    "endpoints",
    "erasing",
    "models",
    "payloads",
    "queuing",
    "sending",
]
