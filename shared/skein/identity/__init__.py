"""Authenticate callers by an issuer's token, a server's API key, or a token issued by Skein."""

__all__ = [
    "admission",
    "api",
    "api_keys",
    "callers",
    "models",
    "user_tokens",
]
