"""The roles of partitions, by their keys."""

import re

ROLES = {
    "a chat": r"[^#]+#CHAT#[^#]+",
    "an agent's open items": r"[^#]+#AGENT#[^#]+",
    "an agent's items of one private scope": r"[^#]+#AGENT#[^#]+#AUD#.+(?<!#WORDS)",
    "an agent's postings of one scope": r"[^#]+#AGENT#[^#]+(#AUD#.+)?#WORDS",
    "an agent's chats (gsi1)": r"[^#]+#MEMBER#agent#.+",
    "an agent's runs of one day (gsi1)": r"[^#]+#RUNS#.+",
    "a person": r"[^#]+#USER#.+",
    "a person's chats (gsi1)": r"[^#]+#MEMBER#user#.+",
    "a person's limits": r"[^#]+#LIMIT#user:.+",
    "a tenant's limits": r"[^#]+#LIMIT#all:.+",
    "a tenant's settings": r"[^#]+#SETTINGS",
    "the stack's settings": r"STACK#\d+",
    "a tenant's skills": r"[^#]+#SKILLS",
    "a tenant's usage": r"[^#]+#USAGE#[^#]+#\d+",
    "a tenant's usage by agent and person": r"[^#]+#USAGE#[^#]+",
    "a phone number": r"[^#]+#PHONE#.+",
    "a tenant's people (gsi1)": r"[^#]+#USERS",
    "a line": r"LINE#.+",
    "a ticket of the live channel": r"TICKET#.+",
    "a connection to the live channel": r"CONNECTION#.+",
    "due runs (gsi2)": r"DUE#run#\d+",
    "due SMS (gsi2)": r"DUE#delivery#\d+",
    "due chats (gsi2)": r"DUE#chat#\d+",
    "due consolidations of groups (gsi2)": r"DUE#consolidation#\d+",
    "due consolidations of direct chats (gsi2)": r"DUE#direct_consolidation#\d+",
    "other due items (gsi2)": r"DUE#(plan|merge|erasure|pause)#\d+",
    "fading journal entries (gsi2)": r"DUE#fading#\d+",
}


def role_of(partition: str) -> str:
    """Return the role of a partition.

    Raises:
        ValueError: The partition has no role in `ROLES`.
    """
    for role, pattern in ROLES.items():
        if re.fullmatch(pattern, partition):
            return role
    raise ValueError(f"partition without a role: {partition}")
