"""Sharing rules: which people may learn what others say to agents in private.

All rules of a tenant are stored in one item, so that a turn needs only one read.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Protocol, Self

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from skein.models.common.base import (
    Identifier,
    Instant,
    Name,
    Stored,
    Tenant,
    Value,
    key_part,
    person_key,
)
from skein.models.common.json_types import JsonBool
from skein.models.common.storage import Check, Exists, Is, Item, Key, SortKeyPrefix, Update, all_of

MAX_RULES = 100  # of a tenant, not counting rules that have ended
LAST_VERSION = 99_999_999
MAX_PEOPLE = 30  # readers and authors of one run; each post checks every person's version
MAX_ENDED = 100  # ended rules that are kept to explain what was shared
RULES_CHANGED = "what the run was told may not be told any more"


RoleName = Annotated[str, StringConstraints(max_length=40, pattern=r"^[a-z][a-z0-9 _-]{0,39}$")]


class BatchReader(Protocol):
    """Reads several items at once, with strong consistency."""

    def get_many(self, keys: Sequence[Key], /) -> dict[Key, Item]: ...


class SharingParty(Value):
    """The people on one side of a rule: those to whom an operator assigned a role."""

    role: Annotated[RoleName, Field(description="Everybody with this role.")]


class SharingRuleFields(Value):
    """The fields of a sharing rule."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    name: Annotated[Name, Field(description="A name for operators.")]
    reason: Annotated[Name, Field(description="Why; the people of both sides can read it.")]
    from_: Annotated[
        SharingParty,
        Field(alias="from", description="Whose words, said to an agent alone, may be told."),
    ]
    to: Annotated[SharingParty, Field(description="To whom they may be told.")]
    same_subject: Annotated[
        JsonBool,
        Field(
            description="Whether both must have exactly one subject in their roles, and the same."
        ),
    ] = False
    starts_at: Annotated[
        Instant | None, Field(description="When it begins; null: as soon as it is made.")
    ] = None
    ends_at: Annotated[Instant | None, Field(description="When it ends; null: never.")] = None


class SharingRule(SharingRuleFields):
    """A sharing rule of a tenant.

    Attributes:
        begins_at: When the rule begins to cover messages: at `starts_at`, or when the rule was
            created, whichever is later.
        withdrawn_at: When the rule was deleted; from then on, the rule shares nothing.
    """

    id: Identifier
    begins_at: Instant
    withdrawn_at: Annotated[Instant | None, Field(exclude_if=lambda at: at is None)] = None

    def in_force(self, moment: datetime) -> bool:
        ends = [at for at in (self.ends_at, self.withdrawn_at) if at is not None]
        return self.begins_at <= moment and all(moment < at for at in ends)


def _between_roles(rules: Iterable[Any]) -> list[Any]:
    """Leave out rules that name a person: release 0.3.0 stored them, but they have no effect."""
    return [
        rule
        for rule in rules
        if isinstance(rule, SharingRule) or "user_id" not in {**rule["from"], **rule["to"]}
    ]


StoredRules = Annotated[tuple[SharingRule, ...], BeforeValidator(_between_roles)]


class SharingRules(Stored):
    """The sharing rules of a tenant.

    Attributes:
        ended: The latest rules that were deleted or have ended.
        version: The optimistic lock, and the number of the newest version.
        epoch: A counter that is raised whenever a rule is deleted or its end changes; see
            `SharingStamp`. Release 0.3.0 also raises it for changes to people and their messages.
    """

    tenant: Tenant
    rules: StoredRules = ()
    ended: StoredRules = ()
    version: int = 0
    epoch: int = 0
    changed_at: Instant | None = None
    changed_by: Identifier | None = None

    @staticmethod
    def key_of(tenant: str) -> "Key[SharingRules]":
        return Key(f"{key_part(tenant)}#SHARING", "RULES")

    @property
    def key(self) -> "Key[SharingRules]":
        return self.key_of(self.tenant)

    def to_item(self) -> Item:
        return self.attributes()

    def in_force(self, moment: datetime) -> tuple[SharingRule, ...]:
        return tuple(rule for rule in self.rules if rule.in_force(moment))


class SharingStamp(Value):
    """The versions of rules and people when a run got content through sharing rules.

    Attributes:
        epoch: The epoch of the rules when they were read.
        versions: The sharing versions of the readers and of the authors, by id.
        ends_at: The earliest end of the rules that were used; None if none of them ends.
    """

    epoch: int
    versions: dict[Identifier, int]
    ends_at: Annotated[Instant | None, Field(exclude_if=lambda at: at is None)] = None

    @classmethod
    def of(cls, epoch: int, versions: Mapping[str, int], rules: Iterable[SharingRule]) -> Self:
        ends = (rule.ends_at for rule in rules if rule.ends_at is not None)
        return cls(epoch=epoch, versions=dict(versions), ends_at=min(ends, default=None))

    def joined(self, other: "SharingStamp | None") -> "SharingStamp":
        if other is None:
            return self
        ends = [at for at in (self.ends_at, other.ends_at) if at is not None]
        versions = {**other.versions, **self.versions}
        least = {each: min(at, other.versions.get(each, at)) for each, at in versions.items()}
        epoch = min(self.epoch, other.epoch)
        return SharingStamp(epoch=epoch, versions=least, ends_at=min(ends, default=None))

    def has_ended(self, moment: datetime) -> bool:
        return self.ends_at is not None and self.ends_at <= moment

    def unchanged(self, tenant: str) -> list[Check]:
        """Return checks that fail if any of the content may no longer be shared."""
        checks = [Check(SharingRules.key_of(tenant), Is("epoch", self.epoch))]
        for user_id, version in self.versions.items():
            same = all_of(Exists(), Is("sharing_version", version or None))
            checks.append(Check(person_key(tenant, user_id), same))
        return checks

    def holds(self, table: BatchReader, tenant: str, now: datetime) -> bool:
        """Return whether all content may still be shared, by reading the versions again."""
        rules_key = SharingRules.key_of(tenant)
        people = {person_key(tenant, each): version for each, version in self.versions.items()}
        found = table.get_many([rules_key, *people])
        return (
            not self.has_ended(now)
            and rules_key in found
            and SharingRules.must_read(found, rules_key).epoch == self.epoch
            and all(
                key in found and found[key].get("sharing_version", 0) == version
                for key, version in people.items()
            )
        )


def sharing_changed(tenant: str, user_id: str) -> Update:
    """Return the write that raises the sharing version of a person, who must have a record.

    Runs that received the person's messages then build their prompts again before they post.
    """
    added = {"sharing_version": 1, "version": 1}
    return Update(person_key(tenant, user_id), add=added, condition=Exists())


class RulesVersion(Stored):
    """One version of a tenant's sharing rules, as they were then."""

    PREFIX: ClassVar = SortKeyPrefix("RULES#")

    tenant: Tenant
    version: int
    rules: StoredRules
    changed_at: Instant
    changed_by: Identifier

    @staticmethod
    def partition_of(tenant: str) -> str:
        return f"{key_part(tenant)}#SHARING#VERSIONS"

    @staticmethod
    def key_of(tenant: str, version: int) -> "Key[RulesVersion]":
        """Return the key of a version; newer versions sort before older ones."""
        position = LAST_VERSION - version
        return Key(RulesVersion.partition_of(tenant), f"{RulesVersion.PREFIX}{position:08d}")

    @property
    def key(self) -> "Key[RulesVersion]":
        return self.key_of(self.tenant, self.version)

    def to_item(self) -> Item:
        return self.attributes()
