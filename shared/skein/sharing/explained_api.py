"""Resources of the HTTP API: why people may see items."""

from typing import Annotated, Literal, Self

from pydantic import Field

from skein.models.api.base import Id, Resource
from skein.models.api.chats import SenderResource
from skein.models.common.base import Identifier
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
    """A sharing rule that lets a reader see an item."""

    id: Id
    name: Annotated[str, Field(description="The name of the rule.")]
    reason: Annotated[str, Field(description="Why the rule was made.")]


class RefusingRule(DecidingRule):
    """A sharing rule that does not let a reader see an item."""

    fails: Annotated[str, Field(description="The first condition of the rule that fails.")]
    why: Why

    @classmethod
    def of(cls, source: RuleRefusal, /) -> Self:
        """Build the resource of a rule that does not apply."""
        rule, fails = DecidingRule.of(source.rule), source.reason
        return cls(**dict(rule), fails=fails.value, why=fails.meaning)


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
        decision = source.decision
        return cls(
            may_see=source.may_see,
            decided_by=source.decided_by.value,
            why=source.sentence,
            rules=tuple(map(DecidingRule.of, decision.rules)),
            refused_reader=decision.reader,
            refused_rules=tuple(map(RefusingRule.of, decision.refused)),
        )


class ExplainedMessageResource(ExplanationResource):
    """Why a reader may see a message, or why not, without its words."""

    seq: Annotated[int, Field(description="The number of the message.")]
    sender: Annotated[SenderResource, Field(description="Who posted the message.")]

    @classmethod
    def made(cls, source: ExplainedMessage) -> Self:
        explanation, message = ExplanationResource.of(source.explanation), source.message
        sender = SenderResource.of(message.sender)
        return cls(**dict(explanation), seq=message.seq, sender=sender)


class ExplainedMessages(Resource):
    """Why a reader may see messages of a chat, or why not."""

    items: Annotated[
        tuple[ExplainedMessageResource, ...], Field(description="The messages that exist.")
    ]
