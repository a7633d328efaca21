"""Deliver messages to phones as SMS, each part once."""

__all__ = [
    "enqueue",
    "segments",
    "sender",
]
