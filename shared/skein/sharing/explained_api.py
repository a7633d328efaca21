"""Requests and resources of the HTTP API: why people may see items, previews and dry runs."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field

from skein.models.api.base import Id, IdOfChat, Request, Resource
from skein.models.api.chats import SenderResource
from skein.models.common.base import EntityId, Identifier
from skein.models.config.sharing import SharingRule, SharingRuleFields
from skein.models.directory.role import MAX_ROLES, Role
from skein.recall.layout import RecalledEntry
from skein.services.chat_state.sharing_rules import RuleRefusal
from skein.sharing.api import NewSharingRule
from skein.sharing.dry_run import (
    MAX_COUNTED,
    MAX_PAIRS,
    MAX_PEOPLE,
    DryRun,
    ReaderChange,
    SharingChange,
)
from skein.sharing.explained import ExplainedMessage, Explanation
from skein.sharing.grounds import SharingGround

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
        """Build the resource of an explanation."""
        return cls(**explained(source))


class ExplainedMessageResource(ExplanationResource):
    """Why a reader may see a message, or why not, without its words."""

    seq: Annotated[int, Field(description="The number of the message.")]
    sender: Annotated[SenderResource, Field(description="Who posted the message.")]

    @classmethod
    def made(cls, source: ExplainedMessage) -> Self:
        """Build the resource of a message."""
        message = source.message
        sender = SenderResource.of(message.sender)
        return cls(seq=message.seq, sender=sender, **explained(source.explanation))


class ExplainedMessages(Resource):
    """Why a reader may see messages of a chat, or why not."""

    items: Annotated[
        tuple[ExplainedMessageResource, ...], Field(description="The messages that exist.")
    ]


class UsableMessage(Resource):
    """A passage that an agent could use for its answer to a person, and why it may."""

    chat_id: IdOfChat
    seqs: Annotated[
        tuple[int, ...],
        Field(description="The number of the message; of a memory, those that it was made from."),
    ]
    sender: Annotated[SenderResource, Field(description="Who posted the message.")]
    text: Annotated[str, Field(description="The text, or the best part of a long one.")]
    created_at: Annotated[datetime, Field(description="When it was posted.")]
    decided_by: Ground
    why: Why
    rules: Annotated[
        tuple[DecidingRule, ...], Field(description="The rules by which the person may see it.")
    ]

    @classmethod
    def of(cls, source: RecalledEntry, /) -> Self:
        """Build the resource of a recalled message."""
        ground = SharingGround.OPEN if source.audience.open else SharingGround.PRESENCE
        ground = SharingGround.RULE if source.rules else ground
        message = source.message
        by = [f"{rule.name}: {rule.reason}" for rule in source.rules]
        return cls(
            chat_id=message.chat_id,
            seqs=source.seqs,
            sender=SenderResource.of(message.sender),
            text=source.text,
            created_at=message.created_at,
            decided_by=ground.value,
            why=" ".join([ground.meaning, *by]),
            rules=tuple(map(deciding, source.rules)),
        )


class SharingPreview(Resource):
    """What an agent could use to answer a person in private, best first."""

    chat_id: Annotated[str, Field(description="The private chat of the person and the agent.")]
    items: Annotated[
        tuple[UsableMessage, ...], Field(description="The passages that recall would show.")
    ]


class RolesChange(Request):
    """The roles that a person would have."""

    user_id: Annotated[EntityId, Field(description="The person.")]
    roles: Annotated[
        tuple[Role, ...], Field(max_length=MAX_ROLES, description="All roles, as in the user.")
    ]


class SharingDryRun(Request):
    """Changes of rules and roles to try, without writing anything."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"roles": [{"user_id": "usr_1", "roles": [{"role": "father"}]}]}
        }
    )

    add: Annotated[
        tuple[NewSharingRule, ...],
        Field(max_length=10, description="New rules, as if they began now."),
    ] = ()
    remove: Annotated[
        tuple[EntityId, ...],
        Field(max_length=100, description="The ids of rules that are deleted, or get an end."),
    ] = ()
    roles: Annotated[
        tuple[RolesChange, ...], Field(max_length=20, description="People with other roles.")
    ] = ()

    @property
    def change(self) -> SharingChange:
        """The change to try."""
        added: tuple[SharingRuleFields, ...] = tuple(new.fields for new in self.add)
        return SharingChange(added, self.remove, {each.user_id: each.roles for each in self.roles})


class PairState(Resource):
    """What one person may be told of what another said, before or after a change."""

    tells: Annotated[
        bool, Field(description="Whether what the author says from now on may be told.")
    ]
    messages: Annotated[
        int, Field(description="How many of the author's messages may be told now.")
    ]
    talks: Annotated[int, Field(description="In how many talks.")]


class DryRunChange(Resource):
    """An author and a reader for whom a change makes a difference."""

    author_id: Id
    author_name: Annotated[str, Field(description="The name of the author.")]
    reader_id: Id
    reader_name: Annotated[str, Field(description="The name of the reader.")]
    before: Annotated[PairState, Field(description="As it is now.")]
    after: Annotated[PairState, Field(description="As it would be.")]

    @classmethod
    def of(cls, source: ReaderChange, /) -> Self:
        """Build the resource of a pair."""
        before, after = source.before, source.after
        return cls(
            author_id=source.author.id,
            author_name=source.author.name,
            reader_id=source.reader.id,
            reader_name=source.reader.name,
            before=PairState(tells=before.tells, messages=before.messages, talks=before.talks),
            after=PairState(tells=after.tells, messages=after.messages, talks=after.talks),
        )


class DryRunResource(Resource):
    """What a change of rules or roles would let people be told, or stop."""

    pairs: Annotated[
        tuple[DryRunChange, ...], Field(description="The people for whom it makes a difference.")
    ]
    complete: Annotated[
        bool,
        Field(
            description=f"Whether all were looked at: at most {MAX_PEOPLE} people, {MAX_PAIRS} "
            f"pairs, and {MAX_COUNTED} newest messages of each author."
        ),
    ]

    @classmethod
    def of(cls, source: DryRun, /) -> Self:
        """Build the resource of a dry run."""
        return cls(pairs=tuple(map(DryRunChange.of, source.pairs)), complete=source.complete)


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
