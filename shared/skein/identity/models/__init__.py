"""Define the stored records of API keys and tokens, and the form in which clients send them."""

__all__ = [
    "api_key",
    "credential",
    "user_token",
    "visit",
]
