"""Link phone numbers to users, and merge two users into one."""

__all__ = [
    "phone_links",
]
