"""A person, and the merge of two records of one person."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from skein.models.base import E164, Identifier, Instant, Name, NamedMember, Stored, Tenant, key_part
from skein.models.due import due_mark
from skein.models.storage import META, Item, Key

MAX_PHONES = 20


class User(Stored):
    """A person.

    Attributes:
        phones: Every number that leads to this person.
        profile: Free fields about them; their name and time zone are fields of their own.
        by_phone: Nothing is known of them but their number: a text made the record.
        former_ids: Under which they were known before these turned out to be the same person;
            what they said then still carries them.
        former_phones: Numbers that have been theirs, under which chats may still stand.
        erasure_id: All that is theirs is being erased: the record holds nothing else any more, and
            keeps them out of new chats until it goes, too.
        version: Raised by every change, which holds only for the version that it read.
    """

    tenant: Tenant
    id: Identifier
    name: Name
    phones: tuple[E164, ...] = ()
    time_zone: str | None = None
    profile: dict[str, Any] = Field(default_factory=dict)
    by_phone: Annotated[bool, Field(exclude_if=lambda known: not known)] = False
    former_ids: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    former_phones: Annotated[tuple[E164, ...], Field(exclude_if=lambda phones: not phones)] = ()
    erasure_id: Identifier | None = None
    version: int = 1
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, user_id: str) -> Key:
        """Return the key of a person."""
        return Key(f"{key_part(tenant)}#USER#{key_part(user_id)}", META)

    @property
    def key(self) -> Key:
        """The key of this person."""
        return self.key_of(self.tenant, self.id)

    @property
    def as_member(self) -> NamedMember:
        """The person as they stand in a roster."""
        return NamedMember(kind="user", id=self.id, name=self.name)

    def to_item(self) -> Item:
        """Return the person as table attributes, listed under their tenant."""
        return self.attributes() | {"gsi1pk": users_relation(self.tenant), "gsi1sk": self.id}


class Merge(Stored):
    """Says that one person has turned out to be another, until all that was theirs has moved."""

    tenant: Tenant
    id: Identifier
    into: Identifier
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, user_id: str) -> Key:
        """Return the key of the merge of the person who is no more."""
        return Key(User.key_of(tenant, user_id).pk, "MERGE")

    @property
    def key(self) -> Key:
        """The key of this merge."""
        return self.key_of(self.tenant, self.id)

    def to_item(self, due_at: datetime) -> Item:
        """Return the merge as table attributes, to be looked at again at `due_at`."""
        return self.attributes() | due_mark("merge", self.key, due_at)


def users_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's people."""
    return f"{key_part(tenant)}#USERS"
