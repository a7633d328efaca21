"""Users, the merge of two users who are the same person, and the index of their names."""

from datetime import datetime
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel, Field

from skein.models.common.address import Address
from skein.models.common.base import (
    Identifier,
    Instant,
    Name,
    NamedMember,
    NamedModel,
    Stored,
    Tenant,
    TimeZone,
    is_visitor,
    key_part,
    person_key,
)
from skein.models.common.person_names import NameSource, split_tag, tagged
from skein.models.common.quiet_hours import QuietHours
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.profile_change import ProfileChange
from skein.models.directory.role import HeldRole
from skein.models.outbox.due import due_pointer

MAX_ADDRESSES = 20
NAME = SortKeyPrefix("NAME#")


class UserFields(BaseModel):
    """The fields of a user that operators, and the users themselves, set."""

    time_zone: Annotated[
        TimeZone | None,
        Field(description="The IANA name of a time zone, such as `Europe/Paris`."),
    ] = None
    quiet_hours: Annotated[
        QuietHours | None,
        Field(
            description="Hours in which plans send the person no SMS, in the person's time zone; "
            "null: the tenant's quiet hours."
        ),
    ] = None


class UserChanges(TypedDict, total=False):
    """The fields of a user that a change to the profile can set."""

    name: Name
    name_source: NameSource
    time_zone: TimeZone | None
    profile: dict[str, Any]
    profile_changes: tuple[ProfileChange, ...]


class User(UserFields, NamedModel, Stored):
    """A person with a record.

    Attributes:
        name_source: Whether the issuer of tokens, an operator or Skein gave the name, or the person
            chose it. A name that an agent records counts as chosen.
        addresses: The addresses that are linked to this person, of all channels.
        profile: Free fields about the person; name and time zone are fields of the user.
        profile_changes: Changes to the profile, the name and the time zone by agents and by the
            person, oldest first.
        caller: Whether the record was created by a message from an unknown address.
        former_ids: Ids of users that were merged into this one; older messages still contain them.
        former_addresses: Former addresses of this person, under which chats may still be stored.
        signed_out_at: When an operator last signed the person out. Tokens and tickets from before
            are refused.
        roles: The roles that operators assigned to this person, including some that have ended.
        refuses_shared: Whether the person does not want to receive what others said, which sharing
            rules would share.
        sharing_version: A counter that is raised whenever sharing rules may share less of this
            person's messages, or less with this person; see `sharing_changed`.
        erasure_id: The erasure of this person. The record then contains no other data. It keeps the
            person out of new chats until the record is also deleted.
        version: The optimistic lock: every change raises it.
    """

    tenant: Tenant
    id: Identifier
    name_source: NameSource = "given"
    addresses: tuple[Address, ...] = ()
    profile: dict[str, Any] = Field(default_factory=dict)
    profile_changes: Annotated[
        tuple[ProfileChange, ...], Field(exclude_if=lambda changes: not changes)
    ] = ()
    caller: Annotated[bool, Field(exclude_if=lambda caller: not caller)] = False
    former_ids: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    former_addresses: Annotated[tuple[Address, ...], Field(exclude_if=lambda all_: not all_)] = ()
    signed_out_at: Annotated[Instant | None, Field(exclude_if=lambda at: at is None)] = None
    roles: Annotated[tuple[HeldRole, ...], Field(exclude_if=lambda roles: not roles)] = ()
    refuses_shared: Annotated[bool, Field(exclude_if=lambda refuses: not refuses)] = False
    sharing_version: Annotated[int, Field(exclude_if=lambda version: not version)] = 0
    erasure_id: Identifier | None = None
    version: int = 1
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, user_id: str) -> "Key[User]":
        return person_key(tenant, user_id)

    @property
    def key(self) -> "Key[User]":
        return self.key_of(self.tenant, self.id)

    @property
    def phones(self) -> tuple[str, ...]:
        """The person's phone numbers in E.164."""
        return tuple(own.address for own in self.addresses if own.kind == "phone")

    def without(self, *addresses: Address) -> dict[str, tuple[Address, ...]]:
        """Return the changed fields of the user after the removal of addresses."""
        kept = tuple(each for each in self.addresses if each not in addresses)
        former = tuple(dict.fromkeys([*self.former_addresses, *addresses]))
        return {"addresses": kept, "former_addresses": former}

    @property
    def as_member(self) -> NamedMember:
        """The person as an entry of a roster, which shows a chosen name with its tag."""
        chosen = self.name_source == "chosen"
        name = tagged(self.name, self.tenant, self.id) if chosen else self.name
        return NamedMember(kind="user", id=self.id, name=name)

    @property
    def next_sharing(self) -> dict[str, int]:
        """The raised `sharing_version`; a write that changes roles or `refuses_shared` needs it."""
        return {"sharing_version": self.sharing_version + 1}

    @classmethod
    def unknown(cls, tenant: str, person: NamedMember, now: datetime) -> "User":
        """Return a new record for a person who has no record yet.

        Args:
            person: The person, with the name from the sign-in or from a roster.
        """
        name, tag = split_tag(person.name)
        source: NameSource = "chosen" if tag else "given"
        return cls(tenant=tenant, id=person.id, name=name, name_source=source, created_at=now)

    def to_item(self) -> Item:
        """Return the person's table attributes, with the index keys of the tenant's list."""
        relation = users_relation(self.tenant, visitors=is_visitor(self.id))
        return self.attributes() | {"gsi1pk": relation, "gsi1sk": self.id}


class Merge(Stored):
    """The merge of one user into another, stored until all items have moved."""

    tenant: Tenant
    id: Identifier
    into: Identifier
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, user_id: str) -> "Key[Merge]":
        """Return the key of the merge of this user into another user."""
        return Key(User.key_of(tenant, user_id).pk, "MERGE")

    @property
    def key(self) -> "Key[Merge]":
        return self.key_of(self.tenant, self.id)

    def to_item(self, due_at: datetime) -> Item:
        return self.attributes() | due_pointer("merge", self.key, due_at)


def users_relation(tenant: str, *, visitors: bool = False) -> str:
    """Return the `gsi1` partition key of a tenant's members, or of its visitors."""
    return f"{key_part(tenant)}#{'VISITORS' if visitors else 'USERS'}"


class NameWord(Stored):
    """A row of the name index: one word of a person's name.

    Attributes:
        word: The word, without case and accents.
        words: All indexed words of the name.
    """

    tenant: Tenant
    user_id: Identifier
    word: str
    words: tuple[str, ...]

    @staticmethod
    def key_of(tenant: str, word: str, user_id: str) -> "Key[NameWord]":
        return Key(names_partition(tenant), f"{NAME}{key_part(word)}#{key_part(user_id)}")

    @property
    def key(self) -> "Key[NameWord]":
        return self.key_of(self.tenant, self.word, self.user_id)

    def to_item(self) -> Item:
        return self.attributes()


def names_partition(tenant: str) -> str:
    return f"{key_part(tenant)}#NAMES"
