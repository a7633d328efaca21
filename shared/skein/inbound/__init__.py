"""Receive SMS and the webhooks of services."""

__all__ = [
    "api",
    "service_webhooks",
    "sms",
    "sms_hours",
    "webhook_signature",
]
