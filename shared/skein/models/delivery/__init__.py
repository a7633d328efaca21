"""Define SMS, their deliveries, and notifications."""

__all__ = [
    "delivery",
    "notification",
    "sms",
    "sms_hour",
]
