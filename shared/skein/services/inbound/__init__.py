"""Receive SMS and the webhooks of services."""

__all__ = [
    "service_webhooks",
    "sms",
    "webhook_signature",
]
