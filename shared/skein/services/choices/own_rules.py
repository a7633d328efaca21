"""Make the sharing rule for a person's own words to which they said yes."""

from datetime import datetime

from skein.errors import Conflict, Unprocessable
from skein.models.chats.chat import Message
from skein.models.chats.choice import ProposedRule
from skein.models.common.storage import Write
from skein.models.config.sharing import SharingParty, SharingRule
from skein.ports import Table
from skein.services.config.rule_versions import NewVersion, check_people, read_rules

OWN_RULE = "Own rule"  # what operators see of the rules that people make
EXPIRED = {"status": "expired"}


def own_rule(rule: ProposedRule, rule_id: str, person_id: str, at: datetime) -> SharingRule:
    """Return the rule for a person's own words that begins at a time."""
    return SharingRule(
        id=rule_id,
        name=OWN_RULE,
        reason=rule.reason,
        from_=SharingParty(user_id=person_id),
        to=rule.to,
        ends_at=rule.ends_at,
        begins_at=at,
        own=True,
    )


def own_rule_id(question: Message) -> str:
    """Return the id of the rule that a yes to a question makes; another yes would make the same."""
    return f"shr_{question.id.removeprefix('msg_')}"


def own_rule_made(table: Table, question: Message, person_id: str, at: datetime) -> list[Write]:
    """Return the writes that make the rule of a question; none if it proposes none.

    Raises:
        Conflict: The tenant or the person has too many rules, the rule would have ended by now, or
            a person whom it names is gone.
    """
    proposed = question.choice.rule if question.choice is not None else None
    if proposed is None:
        return []
    if proposed.ends_at is not None and proposed.ends_at <= at:
        raise Conflict("the question has expired", details=EXPIRED)
    rule = own_rule(proposed, own_rule_id(question), person_id, at)
    try:
        check_people(table, question.tenant, (rule.from_, rule.to))
    except Unprocessable as error:
        raise Conflict(str(error), details=EXPIRED) from None
    known = read_rules(table, question.tenant)
    return NewVersion.with_rule(known, rule, person_id, at).writes(table)
