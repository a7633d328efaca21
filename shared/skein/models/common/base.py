"""Base classes of models, the types of their fields, and unambiguous key parts."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Self
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from skein.models.common.storage import META, Item, Key, Reads


def to_utc(moment: datetime) -> datetime:
    """Return `moment` in UTC with whole milliseconds, the precision that is stored.

    Raises:
        ValueError: `moment` has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError("a time must have a time zone")
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    beyond = moment.microsecond % 1000
    return moment.replace(microsecond=moment.microsecond - beyond) if beyond else moment


def rfc3339(moment: datetime) -> str:
    """Return e.g. `2026-02-18T14:50:00.000Z`; texts of this fixed width sort by time."""
    return to_utc(moment).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Instant = Annotated[
    datetime,
    AfterValidator(to_utc),
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


def iana_time_zone(name: str) -> str:
    """Return `name` if it is an IANA time zone such as `Europe/Berlin`.

    Raises:
        ValueError: The name is not an IANA time zone.
    """
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # zoneinfo raises each of these for some invalid names
        raise ValueError("not an IANA time zone") from None
    return name


TimeZone = Annotated[
    str, StringConstraints(min_length=1, max_length=64), AfterValidator(iana_time_zone)
]

Tenant = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=128)]
# An id from a client: printable ASCII without spaces, as OpenID Connect requires for a `sub`.
EntityId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[!-~]+$")]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
E164 = Annotated[str, StringConstraints(pattern=r"^\+[1-9][0-9]{6,14}$")]

MemberKind = Literal["user", "agent"]
SenderKind = Literal["user", "agent", "team"]
"""Who posts messages: people, agents, and people of the team who have taken a chat over."""

PersonKind = Literal["member", "visitor"]

VISITOR = "vis_"
"""The prefix of the ids of visitors."""


def is_visitor(person_id: str) -> bool:
    """Return whether a person's id is that of a visitor of a web page."""
    return person_id.startswith(VISITOR)


def not_a_visitor(person_id: str) -> str:
    """Return an id from a client, which must not be the id of a visitor.

    Raises:
        ValueError: The id begins like the ids of visitors.
    """
    if is_visitor(person_id):
        raise ValueError(f"ids that begin with {VISITOR} belong to visitors")
    return person_id


NULL = {"type": "null"}
TEXTS = {"title", "description"}  # of a property in a JSON schema


class NamedModel(BaseModel):
    """A model with a name."""

    name: Annotated[Name, Field(description="The name.")]


class Value(BaseModel):
    """A value object: immutable, without an identity, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PartialModel(BaseModel):
    """A model in whose JSON schema no field has a default; null means no value.

    A subclass inherits the fields from another class, in which they have types and defaults.
    """

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema, in which each field may be null and has no default."""
        made = handler(schema)
        properties = handler.resolve_ref_schema(made)["properties"]
        for name, field in properties.items():
            field.pop("default", None)
            texts = {key: field.pop(key) for key in TEXTS & field.keys()}
            parts = field.get("anyOf", [field])
            properties[name] = {"anyOf": [*parts, *([] if NULL in parts else [NULL])], **texts}
        return made


class Stored(BaseModel):
    """A model of a table item; attributes that only newer releases know are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def from_item(cls, item: dict[str, Any]) -> Self:
        """Build the model from a table item, without index and bookkeeping attributes."""
        return cls.model_validate(item)

    @classmethod
    def read(cls, source: Reads, key: Key[Self]) -> Self | None:
        """Read the entity at a key; None if it does not exist."""
        item = source.get(key)
        return cls.from_item(item) if item is not None else None

    @classmethod
    def read_each(
        cls, found: Mapping[Key, Item], keys: Iterable[Key[Self]] | None = None
    ) -> list[Self]:
        """Return the found entities in the order of `keys`; all of them if `keys` is None."""
        return [
            cls.from_item(found[key]) for key in (found if keys is None else keys) if key in found
        ]

    @classmethod
    def each_of(cls, items: Iterable[Item]) -> Iterator[Self]:
        """Yield the entities of the items that a query finds."""
        return map(cls.from_item, items)

    @classmethod
    def must_read(cls, found: Mapping[Key, Item], key: Key[Self]) -> Self:
        """Return the entity of a key that must exist.

        Raises:
            KeyError: The entity was not found.
        """
        return cls.from_item(found[key])

    def attributes(self) -> dict[str, Any]:
        """Return JSON-ready table attributes, without keys and without fields that are None."""
        return self.model_dump(mode="json", exclude_none=True)


class MemberRef(Value):
    """A reference to a person, an agent or a person of the team, by kind and id."""

    kind: Annotated[SenderKind, Field(description="The kind of item.")]
    id: Annotated[Identifier, Field(description="The id, an opaque text.")]

    def __str__(self) -> str:
        return f"{self.kind}#{key_part(self.id)}"

    @property
    def person_id(self) -> str | None:
        """The id, if this is a person; None for an agent and for the team."""
        return self.id if self.kind == "user" else None


class NamedMember(MemberRef):
    """A member, with the name that the other members see."""

    name: Annotated[str, Field(max_length=200, description="The name that the other members see.")]

    @property
    def ref(self) -> MemberRef:
        """The same member without the name."""
        return _reference(self.kind, self.id)


@lru_cache(maxsize=4096)  # a prompt asks for the same few members thousands of times
def _reference(kind: MemberKind, member_id: str) -> MemberRef:
    return MemberRef(kind=kind, id=member_id)


def key_part(text: str) -> str:
    """Escape `text` for use between the `#` separators of a key, so that keys are unambiguous."""
    return text.replace("%", "%25").replace("#", "%23")


class TenantKey(NamedTuple):
    """The key of an item that exists at most once per tenant; `of` adds the tenant."""

    ending: str
    sk: str

    def of(self, tenant: str) -> Key:
        """Return the key in a tenant's partition."""
        return Key(f"{key_part(tenant)}{self.ending}", self.sk)


def person_key(tenant: str, user_id: str) -> Key:
    return Key(f"{key_part(tenant)}#USER#{key_part(user_id)}", META)


def stable_hash(text: str) -> int:
    """Return a hash that is the same in every process and version, unlike `hash()`."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
