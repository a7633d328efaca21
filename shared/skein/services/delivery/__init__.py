"""Deliver messages to phones in parts; each part is sent only once, as far as possible."""

__all__ = [
    "choice_text",
    "continuation",
    "enqueue",
    "media_links",
    "number_code_sender",
    "sender",
    "state",
]
