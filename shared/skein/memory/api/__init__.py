"""Define how the API shows memories, consolidations and reflections."""

__all__ = [
    "consolidations",
    "memories",
    "reflections",
]
