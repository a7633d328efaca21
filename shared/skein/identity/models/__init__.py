"""Define the stored API keys and tokens, and the text that a client sends."""

__all__ = [
    "api_key",
    "credential",
    "user_token",
    "visit",
]
