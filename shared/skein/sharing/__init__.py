"""Sharing rules: which people agents may tell what other people said to them privately."""

__all__ = [
    "api",
    "erasing",
    "explained",
    "explained_api",
    "own",
    "rules",
]
