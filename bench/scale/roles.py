"""What the partitions of the table and of its indexes hold, by their keys."""

import re

ROLES = {
    "a chat": r"[^#]+#CHAT#[^#]+",
    "an agent, open things": r"[^#]+#AGENT#[^#]+",
    "an agent, things for one audience": r"[^#]+#AGENT#[^#]+#AUD#.+(?<!#WORDS)",
    "an agent's postings of one scope": r"[^#]+#AGENT#[^#]+(#AUD#.+)?#WORDS",
    "an agent's chats (gsi1)": r"[^#]+#MEMBER#agent#.+",
    "an agent's runs of a day (gsi1)": r"[^#]+#RUNS#.+",
    "a person": r"[^#]+#USER#.+",
    "a person's chats (gsi1)": r"[^#]+#MEMBER#user#.+",
    "a person's limits": r"[^#]+#LIMIT#user:.+",
    "a tenant's limits": r"[^#]+#LIMIT#all:.+",
    "a tenant's settings": r"[^#]+#SETTINGS",
    "the stack's settings": r"STACK#\d+",
    "a tenant's skills": r"[^#]+#SKILLS",
    "a tenant's usage of a day": r"[^#]+#USAGE#[^#]+#\d+",
    "a day's usage by agent and person": r"[^#]+#USAGE#[^#]+",
    "a phone number": r"[^#]+#PHONE#.+",
    "a tenant's people (gsi1)": r"[^#]+#USERS",
    "a line": r"LINE#.+",
    "a ticket of the live channel": r"TICKET#.+",
    "a connection to the live channel": r"CONNECTION#.+",
    "what is due, runs (gsi2)": r"DUE#run#\d+",
    "what is due, texts (gsi2)": r"DUE#delivery#\d+",
    "what is due, chats (gsi2)": r"DUE#chat#\d+",
    "what is due, consolidation (gsi2)": r"DUE#consolidation#\d+",
    "what is due, direct chats (gsi2)": r"DUE#direct_consolidation#\d+",
    "what is due, other (gsi2)": r"DUE#(plan|merge|erasure|pause)#\d+",
    "what is due, fading (gsi2)": r"DUE#fading#\d+",
}


def role_of(partition: str) -> str:
    """What kind of thing a partition holds.

    Raises:
        ValueError: Nobody has thought of it.
    """
    for role, pattern in ROLES.items():
        if re.fullmatch(pattern, partition):
            return role
    raise ValueError(f"partition without a role: {partition}")
