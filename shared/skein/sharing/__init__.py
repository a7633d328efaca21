"""Sharing rules, which let agents tell people what other people said to them privately."""

__all__ = [
    "api",
    "erasing",
    "explained",
    "explained_api",
    "own",
    "rules",
]
