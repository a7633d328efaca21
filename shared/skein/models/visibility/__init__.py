"""Define who may see what: audiences, provenance, owners, and the rules of sharing."""

__all__ = [
    "audience",
    "disclosure",
    "ownership",
    "provenance",
    "refusal",
    "sharing_rules",
    "talk",
]
