"""A person, the numbers they are reached by, and the lines on which agents are reached."""

from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field

from skein.models.base import E164, Identifier, Instant, Name, NamedMember, Stored, Tenant, key_part
from skein.models.due import due_mark
from skein.models.overrides import ChatOverrides
from skein.models.storage import META, Item, Key, SortKeyPrefix

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
        """The key of a person."""
        return Key(f"{key_part(tenant)}#USER#{key_part(user_id)}", META)

    @property
    def key(self) -> Key:
        """This person's key."""
        return self.key_of(self.tenant, self.id)

    @property
    def as_member(self) -> NamedMember:
        """The person as they stand in a roster."""
        return NamedMember(kind="user", id=self.id, name=self.name)

    def to_item(self) -> Item:
        """The person as table attributes, listed under their tenant."""
        return self.attributes() | {"gsi1pk": users_relation(self.tenant), "gsi1sk": self.id}


class Merge(Stored):
    """Says that one person has turned out to be another, until all that was theirs has moved."""

    tenant: Tenant
    id: Identifier
    into: Identifier
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, user_id: str) -> Key:
        """The key of the merge of the person who is no more."""
        return Key(User.key_of(tenant, user_id).pk, "MERGE")

    @property
    def key(self) -> Key:
        """This merge's key."""
        return self.key_of(self.tenant, self.id)

    def to_item(self, due_at: datetime) -> Item:
        """The merge as table attributes, to be looked at again at `due_at`."""
        return self.attributes() | due_mark("merge", self.key, due_at)


def users_relation(tenant: str) -> str:
    """The `gsi1` partition of a tenant's people."""
    return f"{key_part(tenant)}#USERS"


def caller_name(phone: str) -> str:
    """How a person is called of whom only the number is known: "Caller" and its last digits."""
    return f"Caller {phone[-4:]}"


class Line(Stored):
    """A phone number that belongs to one agent; the number alone finds the tenant.

    Attributes:
        settings: What it says of settings that its tenant or the deployment would decide.
    """

    tenant: Tenant
    phone: E164
    agent_id: Identifier
    settings: ChatOverrides = ChatOverrides()
    version: int = 1
    created_at: Instant

    @staticmethod
    def key_of(phone: str) -> Key:
        """The key of a line: not under a tenant, since a webhook knows only the number."""
        return Key(f"LINE#{key_part(phone)}", META)

    @property
    def key(self) -> Key:
        """This line's key."""
        return self.key_of(self.phone)

    def to_item(self) -> Item:
        """The line as table attributes, listed under its tenant."""
        return self.attributes() | {"gsi1pk": lines_relation(self.tenant), "gsi1sk": self.phone}


def lines_relation(tenant: str) -> str:
    """The `gsi1` partition of a tenant's lines."""
    return f"{key_part(tenant)}#LINES"


def phone_partition(tenant: str, phone: str) -> str:
    """The partition of what is known of a phone number within a tenant."""
    return f"{key_part(tenant)}#PHONE#{key_part(phone)}"


class PhoneOwner(Stored):
    """Whose number it is."""

    tenant: Tenant
    phone: E164
    user_id: Identifier

    @staticmethod
    def key_of(tenant: str, phone: str) -> Key:
        """The key of a number's owner."""
        return Key(phone_partition(tenant, phone), META)

    @property
    def key(self) -> Key:
        """This look-up's key."""
        return self.key_of(self.tenant, self.phone)

    def to_item(self) -> Item:
        """The look-up as table attributes."""
        return self.attributes()


class PhoneChat(Stored):
    """The one direct chat between a number and a line's agent."""

    PREFIX: ClassVar = SortKeyPrefix("LINE#")

    tenant: Tenant
    phone: E164
    line: E164
    agent_id: Identifier
    chat_id: Identifier

    @staticmethod
    def key_of(tenant: str, phone: str, line: str) -> Key:
        """The key of the chat between a number and a line."""
        return Key(phone_partition(tenant, phone), f"{PhoneChat.PREFIX}{key_part(line)}")

    @property
    def key(self) -> Key:
        """This look-up's key."""
        return self.key_of(self.tenant, self.phone, self.line)

    def to_item(self) -> Item:
        """The look-up as table attributes."""
        return self.attributes()
