"""Deliver messages to phones as SMS, each part once as far as possible."""

__all__ = [
    "choice_text",
    "enqueue",
    "number_code_sender",
    "number_types",
    "opt_out",
    "plain_text",
    "rest",
    "sender",
    "sms_keywords",
    "sms_segments",
    "state",
]
