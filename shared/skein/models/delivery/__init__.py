"""Define SMS and their deliveries."""

__all__ = [
    "delivery",
    "sms",
    "sms_hour",
]
