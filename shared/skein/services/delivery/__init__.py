"""Deliver messages to phones as SMS, each part once as far as possible."""

__all__ = [
    "choice_text",
    "enqueue",
    "number_types",
    "plain_text",
    "policy",
    "rest",
    "sender",
    "sms_keywords",
    "sms_segments",
    "state",
]
