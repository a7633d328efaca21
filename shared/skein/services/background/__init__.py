"""Ask models about what is new, in the background; see `engine`."""

__all__ = [
    "engine",
]
