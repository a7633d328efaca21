"""Deliver messages to phones as SMS, each part once as far as possible."""

__all__ = [
    "enqueue",
    "segments",
    "sender",
    "state",
]
