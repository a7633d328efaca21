"""The effect of an answer to the question whether others may be told a person's own words."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from skein.errors import Conflict, Unprocessable
from skein.models.chats.chat import Message
from skein.models.chats.choice import YES
from skein.models.common.storage import Write
from skein.models.config.sharing import ProposedRule, SharingData
from skein.ports import Table
from skein.services.chats.post_message import NewMessage
from skein.services.choices.effect import (
    AnswerEffect,
    Consequence,
    GivenAnswer,
    RecordedAnswer,
)
from skein.services.config.rule_versions import NewVersion, check_people, read_rules

EXPIRED = {"status": "expired"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingEffect(AnswerEffect):
    """A yes makes the rule, and the message of the answer tells the chat."""

    is_consent: ClassVar[bool] = True

    table: Table

    def on_answer(self, recorded: RecordedAnswer, given: GivenAnswer) -> Consequence:
        """Make the rule."""
        rule = SharingData.from_item(recorded.choice.data).rule
        if rule is None or not recorded.agreed:
            return Consequence()
        made = _rule_made(self.table, recorded.question, rule, given.person_id, recorded.answer.at)
        return Consequence(made)

    def answer_message(self, new: NewMessage, question: Message, given: GivenAnswer) -> NewMessage:
        """Return the message with the rule that it makes, or opens to earlier words."""
        if given.option != YES or question.choice is None:
            return new
        data = SharingData.from_item(question.choice.data)
        return new.model_copy(
            update={
                "noticed_rules": (own_rule_id(question),) if data.rule is not None else (),
                "opened_rules": (data.opens,) if data.opens is not None else (),
            }
        )


def own_rule_id(question: Message) -> str:
    """Return the id of the rule that a yes to a question makes; another yes would make the same."""
    return f"shr_{question.id.removeprefix('msg_')}"


def _rule_made(
    table: Table, question: Message, proposed: ProposedRule, person_id: str, at: datetime
) -> list[Write]:
    """Return the writes that make the rule of a question.

    Raises:
        Conflict: The tenant or the person has too many rules, the rule would have ended by now, or
            a person whom it names is gone.
    """
    if proposed.ends_at is not None and proposed.ends_at <= at:
        raise Conflict("the question has expired", details=EXPIRED)
    rule = proposed.made(own_rule_id(question), person_id, at)
    try:
        check_people(table, question.tenant, (rule.from_, rule.to))
    except Unprocessable as error:
        raise Conflict(str(error), details=EXPIRED) from None
    known = read_rules(table, question.tenant)
    return NewVersion.with_rule(known, rule, person_id, at).writes(table)
