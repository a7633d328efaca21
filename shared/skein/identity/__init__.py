"""Tell who calls: by a token of an issuer, an API key of a server, or a token of Skein's own."""

__all__ = [
    "admission",
    "api",
    "api_keys",
    "callers",
    "models",
    "user_tokens",
]
