"""Link phone numbers to users, and merge callers into known users."""

__all__ = [
    "phone_links",
]
