"""Requests and resources of the HTTP API: sharing rules, and the sharing of a person's words."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from skein.models.api.base import ChangeRequest, Id, IdOfChat, Page, Request, Resource, Seq
from skein.models.chats.chat import Chat
from skein.models.common.base import Identifier, Instant, Name
from skein.models.common.json_types import JsonBool
from skein.models.directory.role import Role
from skein.models.visibility.disclosure import DisclosureRecord
from skein.models.visibility.sharing_rules import SharingParty, SharingRuleFields
from skein.sharing.own import OwnView

EXAMPLE: dict[str, Any] = {
    "name": "Nurses to doctors",
    "reason": "Doctors must know how their patients are.",
    "from": {"role": "nurse"},
    "to": {"role": "doctor"},
    "same_subject": True,
}
Why = Annotated[str, Field(description="Why.")]
Since = Annotated[
    Instant, Field(validation_alias="begins_at", description="From when on words count.")
]
EndsAt = Annotated[Instant | None, Field(description="When it ends; null: never.")]
EverybodyWith = Annotated[
    str, BeforeValidator(lambda party: f"everybody with the role {party.role}")
]


class NewSharingRule(SharingRuleFields, Request):
    """A new sharing rule."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})


class SharingRuleChange(ChangeRequest):
    """Changes to a sharing rule. Omitted and null fields stay unchanged.

    The roles whose words are shared, and with whom, can't be changed: delete the rule, and create
    another.
    """

    model_config = ConfigDict(json_schema_extra={"example": {"ends_at": "2027-01-01T00:00:00Z"}})

    name: Annotated[Name | None, Field(description="A name for operators.")] = None
    reason: Annotated[Name | None, Field(description="Why; both sides can read it.")] = None
    ends_at: Annotated[Instant | None, Field(description="When it ends.")] = None


class SharingRuleResource(Resource):
    """A sharing rule."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    id: Id
    name: Annotated[str, Field(description="A name for operators.")]
    reason: Annotated[str, Field(description="Why; both sides can read it.")]
    from_: Annotated[SharingParty, Field(alias="from", description="Whose words may be told.")]
    to: Annotated[SharingParty, Field(description="To whom they may be told.")]
    same_subject: Annotated[
        bool, Field(description="Whether both must have exactly one subject, and the same.")
    ]
    begins_at: Annotated[Instant, Field(description="From when on words count.")]
    ends_at: EndsAt
    withdrawn_at: Annotated[Instant | None, Field(description="When it was deleted; else null.")]


class SharingRulePage(Page[SharingRuleResource]):
    """All sharing rules, oldest first."""


class RulesVersionResource(Resource):
    """One version of a tenant's sharing rules."""

    version: Annotated[int, Field(description="The number of the version, from 1.")]
    rules: Annotated[
        tuple[SharingRuleResource, ...], Field(description="The rules of this version.")
    ]
    changed_at: Annotated[Instant, Field(description="When the version was made.")]
    changed_by: Annotated[str, Field(description="Who made it, as the token's `sub`.")]


class RulesVersionPage(Page[RulesVersionResource]):
    """A page of versions, newest first."""


class OwnSharingRule(Resource):
    """A sharing rule, as shown to a person whose words it covers."""

    id: Id
    shared_with: Annotated[
        EverybodyWith, Field(validation_alias="to", description="Who may be told, in plain words.")
    ]
    reason: Why
    since: Since
    ends_at: EndsAt


class ToldRule(Resource):
    """A sharing rule that lets agents tell the caller what others said to agents privately."""

    id: Id
    shared_by: Annotated[
        EverybodyWith,
        Field(validation_alias="from_", description="Whose words may be told, in plain words."),
    ]
    reason: Why
    since: Since
    ends_at: EndsAt


class OwnTalk(Resource):
    """A direct chat of the caller from which agents may share the caller's words."""

    chat_id: IdOfChat
    private: Annotated[bool, Field(description="Whether the newest talk is kept from others.")]
    after_seq: Annotated[
        int, Field(description="The number of the first notice; nobody is told earlier words.")
    ]

    @classmethod
    def of(cls, source: Chat, /) -> Self:
        sharing = source.sharing
        noticed = sharing.noticed.values() if sharing is not None else ()
        return cls(
            chat_id=source.id,
            private=sharing is not None and sharing.private,
            after_seq=min(noticed, default=0),
        )


class DisclosedWords(Resource):
    """Words of the caller that agents have shared with others."""

    at: Annotated[Instant, Field(description="When they were told.")]
    chat_id: IdOfChat
    seqs: Annotated[tuple[int, ...], Field(description="The numbers of the messages.")]
    shared_with: Annotated[
        tuple[str, ...],
        Field(description="The names of the people in the chat where they were told."),
    ]
    rule_ids: Annotated[tuple[Identifier, ...], Field(description="The rules that allowed it.")]

    @classmethod
    def made(cls, source: DisclosureRecord, names: tuple[str, ...]) -> Self:
        known = source.model_dump(include={"at", "chat_id", "seqs", "rule_ids"})
        return cls(**known, shared_with=names)


class OwnSharingResource(Resource):
    """The sharing rules about the caller, as source and as recipient, and what was shared."""

    roles: Annotated[tuple[Role, ...], Field(description="The caller's roles.")]
    sentences: Annotated[
        tuple[str, ...], Field(description="Who may be told what the caller says, in plain words.")
    ]
    rules: Annotated[
        tuple[OwnSharingRule, ...], Field(description="The rules that cover the caller's words.")
    ]
    receives: Annotated[
        bool, Field(description="Whether agents may tell the caller what others said, by rules.")
    ]
    told_by: Annotated[
        tuple[ToldRule, ...],
        Field(description="The rules that tell the caller what others said, if `receives`."),
    ]
    talks: Annotated[tuple[OwnTalk, ...], Field(description="The chats whose words are covered.")]
    disclosures: Annotated[
        tuple[DisclosedWords, ...],
        Field(description="The newest words that were told, newest first."),
    ]

    @classmethod
    def of(cls, source: OwnView, /) -> Self:
        return cls(
            roles=source.roles,
            sentences=tuple(map(source.sentence, source.rules)),
            rules=tuple(map(OwnSharingRule.of, source.rules)),
            receives=not source.user.refuses_shared,
            told_by=tuple(map(ToldRule.of, source.told_by)),
            talks=tuple(map(OwnTalk.of, source.talks)),
            disclosures=tuple(DisclosedWords.made(*each) for each in source.disclosures),
        )


class OwnSharingChange(Request):
    """The caller's choice whether agents may tell them what others said privately."""

    model_config = ConfigDict(json_schema_extra={"example": {"receives": False}})

    receives: Annotated[
        JsonBool, Field(description="Whether sharing rules may tell the caller what others said.")
    ]


class Withdrawal(Request):
    """Messages of the caller that agents must not share with others from now on."""

    model_config = ConfigDict(json_schema_extra={"example": {"from_seq": 12, "to_seq": 14}})

    from_seq: Annotated[Seq, Field(description="The first message.")]
    to_seq: Annotated[Seq, Field(description="The last message.")]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.to_seq < self.from_seq:
            raise ValueError("to_seq must not be before from_seq")
        return self
