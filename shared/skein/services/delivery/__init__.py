"""Deliver messages to phones as SMS, each part once as far as possible."""

__all__ = [
    "choice_text",
    "continuation",
    "enqueue",
    "media_links",
    "number_code_sender",
    "sender",
    "state",
]
