"""Skills: named instructions for one kind of work, ours as files and tenants' own."""

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, StringConstraints

from skein.models.base import Instant, Stored, Tenant, Value, key_part
from skein.models.storage import Item, Key

CORE = "core"
MAX_SKILLS = 100  # of a tenant
MAX_MARKS = 10  # tags, or modes, of one skill

SkillName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value  # a pattern is held to it afterwards


Mark = Annotated[
    str,
    BeforeValidator(_lower),
    StringConstraints(strip_whitespace=True, pattern=r"^[a-z0-9][a-z0-9 ./+_-]{0,49}$"),
]
Marks = Annotated[tuple[Mark, ...], Field(max_length=MAX_MARKS)]
SkillText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)
]
SkillDescription = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]


class SkillHead(Value):
    """What is known of a skill without reading it.

    Attributes:
        tags: A thread with one of them is given the skill.
        modes: So is a thread in one of them.
    """

    name: SkillName
    description: SkillDescription = ""
    tags: Marks = ()
    modes: Marks = ()


class Skill(Stored):
    """A skill of a tenant, or, without one, of ours.

    Attributes:
        version: Raised by every change, which holds only for the version that it read.
    """

    tenant: Tenant | None = None
    name: SkillName
    description: SkillDescription = ""
    tags: Marks = ()
    modes: Marks = ()
    text: SkillText
    version: int = 1
    updated_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, name: str) -> Key:
        """Return the key of a tenant's skill."""
        return Key(skills_partition(tenant), key_part(name))

    @property
    def head(self) -> SkillHead:
        """What is known of it without its text."""
        return SkillHead(
            name=self.name, description=self.description, tags=self.tags, modes=self.modes
        )


class SkillCatalog(Stored):
    """The heads of all skills of a tenant, so that a prompt chooses among them without a query.

    Attributes:
        version: Raised by every change, which holds only for the version that it read.
    """

    heads: tuple[SkillHead, ...] = ()
    version: int = 0

    @staticmethod
    def key_of(tenant: str) -> Key:
        """Return the key of a tenant's catalog; no skill can have this name."""
        return Key(skills_partition(tenant), "CATALOG")

    @classmethod
    def found_in(cls, item: Item | None) -> Self:
        """The catalog of an item; an empty one where there is none."""
        return cls() if item is None else cls.from_item(item)

    def with_head(self, head: SkillHead) -> Self:
        """The catalog with this head in the place of the one of the same name, by name."""
        others = [each for each in self.heads if each.name != head.name]
        heads = sorted([*others, head], key=lambda each: each.name)
        return self.model_copy(update={"heads": tuple(heads), "version": self.version + 1})

    def without(self, name: str) -> Self:
        """The catalog without the head of this name."""
        heads = tuple(each for each in self.heads if each.name != name)
        return self.model_copy(update={"heads": heads, "version": self.version + 1})


def skills_partition(tenant: str) -> str:
    """Return the partition key of a tenant's skills."""
    return f"{key_part(tenant)}#SKILLS"
