"""Skills: named instructions for one kind of work, from Skein's files or from tenants."""

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from skein.models.common.base import Instant, Stored, Tenant, Value, key_part
from skein.models.common.storage import Item, Key
from skein.models.visibility.audience import OPEN, PUBLIC, Audience
from skein.models.visibility.ownership import StoredPublic

CORE = "core"
MAX_SKILLS = 100  # per tenant
MAX_SKILL_LABELS = 10  # tags, or modes, per skill

SkillName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value  # the pattern is checked afterwards


SkillLabel = Annotated[
    str,
    BeforeValidator(_lower),
    StringConstraints(strip_whitespace=True, pattern=r"^[a-z0-9][a-z0-9 ./+_-]{0,49}$"),
]
SkillLabels = Annotated[tuple[SkillLabel, ...], Field(max_length=MAX_SKILL_LABELS)]
SkillText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)
]


class SkillFields(BaseModel):
    """What a skill is for, and the threads whose prompts include it."""

    description: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=200),
        Field(description="What the skill is for, in a sentence."),
    ] = ""
    tags: Annotated[
        SkillLabels, Field(description="Threads with one of these tags get the skill.")
    ] = ()
    modes: Annotated[
        SkillLabels, Field(description="Threads in one of these modes get the skill.")
    ] = ()


class SkillHead(SkillFields, Value):
    """A skill without its text."""

    name: SkillName


class Skill(SkillFields, Stored):
    """A skill of a tenant or, without a tenant, one of Skein's own.

    Attributes:
        public: Whether an operator marked the skill as public; Skein's own skills always are.
        version: The optimistic lock: every change raises it.
    """

    tenant: Tenant | None = None
    name: SkillName
    text: SkillText
    public: StoredPublic = False
    version: int = 1
    updated_at: Instant | None = None

    @staticmethod
    def key_of(tenant: str, name: str) -> "Key[Skill]":
        return Key(skills_partition(tenant), key_part(name))

    @property
    def shown_to(self) -> Audience:
        """The readers for whom a prompt may include the skill."""
        return PUBLIC if self.public or self.tenant is None else OPEN

    @property
    def head(self) -> SkillHead:
        return SkillHead(
            name=self.name, description=self.description, tags=self.tags, modes=self.modes
        )

    @property
    def key(self) -> "Key[Skill]":
        return self.key_of(str(self.tenant), self.name)


class SkillCatalog(Stored):
    """A tenant's skills without their texts, in one item, so that choosing skills needs no query.

    Attributes:
        heads: The skills without their texts, sorted by name.
        version: The optimistic lock: every change raises it.
    """

    heads: tuple[SkillHead, ...] = ()
    version: int = 0

    @staticmethod
    def key_of(tenant: str) -> "Key[SkillCatalog]":
        """Return the key of a tenant's catalog, which can never be the key of a skill."""
        return Key(skills_partition(tenant), "CATALOG")

    @classmethod
    def from_optional(cls, item: Item | None) -> Self:
        """Return the catalog of an item; an empty catalog if there is no item."""
        return cls() if item is None else cls.from_item(item)

    def with_head(self, head: SkillHead) -> "SkillCatalog":
        """Return the catalog with a skill added, or replaced by name."""
        others = [each for each in self.heads if each.name != head.name]
        heads = sorted([*others, head], key=lambda each: each.name)
        return self.model_copy(update={"heads": tuple(heads), "version": self.version + 1})

    def without(self, name: str) -> "SkillCatalog":
        """Return the catalog without the skill of this name."""
        heads = tuple(each for each in self.heads if each.name != name)
        return self.model_copy(update={"heads": heads, "version": self.version + 1})


def skills_partition(tenant: str) -> str:
    return f"{key_part(tenant)}#SKILLS"
