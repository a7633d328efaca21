"""Receive SMS and the webhooks of services."""

__all__ = [
    "api",
    "service_webhooks",
    "sms",
    "webhook_signature",
]
