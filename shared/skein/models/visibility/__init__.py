"""Models that decide who may see what: audiences, provenance, owners and sharing rules."""

__all__ = [
    "audience",
    "disclosure",
    "ownership",
    "provenance",
    "refusal",
    "sharing_rules",
    "talk",
]
