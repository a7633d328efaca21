"""Authenticate callers by an issuer's token, an API key, or a token that Skein issued or signed."""

__all__ = [
    "admission",
    "api",
    "api_keys",
    "callers",
    "models",
    "user_tokens",
    "visit_tokens",
]
