"""Sharing rules: whom agents may tell what others say to them alone."""

__all__ = [
    "api",
    "erasing",
    "explained",
    "explained_api",
    "own",
    "rules",
]
