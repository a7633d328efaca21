"""Resources of the HTTP API: why people may see items."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field

from skein.models.api.base import Id, Resource
from skein.models.api.chats import SenderResource
from skein.models.common.base import Identifier
from skein.models.visibility.sharing_rules import SharingRule
from skein.services.visibility.sharing_rules import RuleRefusal
from skein.sharing.explained import ExplainedMessage, Explanation

ItemKind = Literal[
    "memory",
    "own_words",
    "goal",
    "plan",
    "thread",
    "document",
    "chat_document",
    "chat_summary",
    "agent_summary",
]
"""The kinds of items that are explained, besides messages."""
MaySee = Annotated[bool, Field(description="Whether the reader may see it.")]
Ground = Annotated[
    str,
    Field(
        description="What decided: `open`, `presence`, `consent`, `membership` or `rule`; else the "
        "first condition that fails, such as `private` or `no_rule`."
    ),
]
Why = Annotated[str, Field(description="The same in plain words.")]


class DecidingRule(Resource):
    """A sharing rule that tells an item to a reader."""

    id: Id
    name: Annotated[str, Field(description="The name of the rule.")]
    reason: Annotated[str, Field(description="Why the rule was made.")]


class RefusingRule(DecidingRule):
    """A sharing rule that does not tell an item to a reader."""

    fails: Annotated[str, Field(description="The first condition of the rule that fails.")]
    why: Why

    @classmethod
    def of(cls, source: RuleRefusal, /) -> Self:
        """Build the resource of a rule that does not apply."""
        rule, reason = source.rule, source.reason
        return cls(
            id=rule.id,
            name=rule.name,
            reason=rule.reason,
            fails=reason.value,
            why=reason.meaning,
        )


class ExplanationResource(Resource):
    """Why a reader may see an item, or why not, as of now."""

    may_see: MaySee
    decided_by: Ground
    why: Why
    rules: Annotated[
        tuple[DecidingRule, ...], Field(description="The rules by which all readers may see it.")
    ]
    refused_reader: Annotated[
        Identifier | None,
        Field(description="The first of the readers whom no rule names; null for other reasons."),
    ]
    refused_rules: Annotated[
        tuple[RefusingRule, ...], Field(description="Why each rule does not tell that reader.")
    ]

    @classmethod
    def of(cls, source: Explanation, /) -> Self:
        return cls(**explained(source))


class ExplainedMessageResource(ExplanationResource):
    """Why a reader may see a message, or why not, without its words."""

    seq: Annotated[int, Field(description="The number of the message.")]
    sender: Annotated[SenderResource, Field(description="Who posted the message.")]

    @classmethod
    def made(cls, source: ExplainedMessage) -> Self:
        message = source.message
        sender = SenderResource.of(message.sender)
        return cls(seq=message.seq, sender=sender, **explained(source.explanation))


class ExplainedMessages(Resource):
    """Why a reader may see messages of a chat, or why not."""

    items: Annotated[
        tuple[ExplainedMessageResource, ...], Field(description="The messages that exist.")
    ]


def explained(source: Explanation) -> dict[str, Any]:
    """Return the fields of an explanation."""
    decision = source.decision
    return {
        "may_see": source.may_see,
        "decided_by": source.decided_by.value,
        "why": source.sentence,
        "rules": tuple(map(deciding, decision.rules)),
        "refused_reader": decision.reader,
        "refused_rules": tuple(map(RefusingRule.of, decision.refused)),
    }


def deciding(rule: SharingRule) -> DecidingRule:
    """Return a rule that decided, as the API shows it."""
    return DecidingRule(id=rule.id, name=rule.name, reason=rule.reason)
