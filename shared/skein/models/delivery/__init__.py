"""Models of SMS, their deliveries, and notifications."""

__all__ = [
    "delivery",
    "media_link",
    "notification",
    "sms",
]
