"""Decide who may see what: readers, insiders, posts and sharing rules."""

__all__ = [
    "audience",
    "disclosure",
    "insiders",
    "sharing_reads",
    "sharing_rules",
    "talk",
]
