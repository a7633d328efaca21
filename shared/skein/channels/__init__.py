"""Channels: the ways to reach a person, each as data and a few functions (`docs/channels.md`)."""

__all__ = [
    "keywords",
    "opt_out",
    "phone_numbers",
    "plain_text",
    "port",
    "registry",
    "segments",
    "sms",
    "text_cuts",
]
