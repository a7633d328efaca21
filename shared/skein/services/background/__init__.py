"""Ask models about new content in the background; see `engine`."""

__all__ = [
    "engine",
]
