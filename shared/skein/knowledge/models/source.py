"""A source of a tenant's knowledge: what operators set, its versions, and where its text is."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationInfo,
    field_validator,
)

from skein.models.common.base import (
    EntityId,
    Identifier,
    Instant,
    Name,
    Stored,
    Tenant,
    TenantKey,
    Value,
    key_part,
)
from skein.models.common.json_types import NUMBER, JsonBool
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.models.outbox.jobs import SourceJob
from skein.models.visibility.sharing_rules import RoleName
from skein.own_tools.models.tool import service_url

SourceAudience = Literal["public", "everyone", "roles"]
SourceState = Literal["reading", "ready", "held", "failed"]

MAX_SOURCES = 200  # of a tenant
MAX_FILE_BYTES = 2_000_000
MAX_CHARACTERS = 2_000_000  # of all sources of a tenant that agents may use
MAX_PASSAGES = 4_000
KEPT_VERSIONS = 10
LAST_VERSION = 99_999_999


class SourceFields(BaseModel):
    """The fields of a source that operators set."""

    about: Annotated[str, Field(max_length=500, description="A note for operators.")] = ""
    audience: Annotated[
        SourceAudience, Field(description="Who may be told; `roles`: all readers have one of them.")
    ] = "everyone"
    roles: Annotated[
        tuple[RoleName, ...], Field(max_length=10, validate_default=True, description="The roles.")
    ] = ()
    agents: Annotated[
        tuple[EntityId, ...], Field(max_length=50, description="Agents that may use it, or all.")
    ] = ()
    refresh_hours: Annotated[
        int, Field(ge=1, le=720, description="How often the URL is read again, in hours."), NUMBER
    ] = 24
    enabled: Annotated[JsonBool, Field(description="Whether agents may use the source.")] = True


class NamedSource(SourceFields):
    """A source with its name and its address."""

    name: Annotated[Name, Field(description="The name, which prompts and citations show.")]
    url: Annotated[
        Annotated[str, Field(max_length=2_000), AfterValidator(service_url)] | None,
        Field(description="A web page or a sitemap, of which at most 200 pages are read."),
    ] = None

    @field_validator("roles")
    @classmethod
    def _belong_to_audience(
        cls, roles: tuple[RoleName, ...], info: ValidationInfo
    ) -> tuple[RoleName, ...]:
        if (info.data.get("audience") == "roles") != bool(roles):
            raise ValueError("they belong to the audience `roles`, which needs one")
        return tuple(sorted(set(roles)))


SOURCE_FIELDS = tuple(NamedSource.model_fields)
"""The fields of a source of which each version keeps the values."""


class SourceText(Value):
    """The text of one version of a source, in the bucket.

    Attributes:
        file: The name of the file with the passages and their vectors.
        as_of: When the text was read.
    """

    file: str
    characters: int
    passages: int
    as_of: Instant


class Source(NamedSource, Stored):
    """A text, file or page of the business that agents may use.

    Attributes:
        version: The number of the newest version; 0 until a text was read.
        revision: The optimistic lock, which every change raises.
        text: The text that agents may use; None until a text was read.
        held: A newer text that is held back until an operator accepts it, if any.
        upload: The file to read; None for a URL, and after the file was read.
        error: Why the last reading did not replace the text; None if the last reading succeeded.
        failures: How often in a row the source could not be read.
        files: The files that may be in the bucket for this source.
        checked_at: When the source was last read without an error.
        next_at: When the source is read next.
        deleted: Whether the source was deleted, and only its files are left.
    """

    PREFIX: ClassVar = SortKeyPrefix("SOURCE#")

    tenant: Tenant
    id: Identifier
    version: int = 0
    revision: int = 1
    state: SourceState = "reading"
    text: SourceText | None = None
    held: SourceText | None = None
    upload: str | None = None
    error: str | None = None
    failures: int = 0
    files: tuple[str, ...] = ()
    checked_at: Instant | None = None
    next_at: Instant | None = None
    deleted: Annotated[bool, Field(exclude_if=lambda deleted: not deleted)] = False
    created_at: Instant
    changed_at: Instant | None = None
    changed_by: Identifier | None = None

    @staticmethod
    def key_of(tenant: str, source_id: str) -> "Key[Source]":
        return Key(sources_partition(tenant), f"{Source.PREFIX}{key_part(source_id)}")

    @property
    def key(self) -> "Key[Source]":
        return self.key_of(self.tenant, self.id)

    @property
    def job(self) -> SourceJob:
        """The job that reads the source, or deletes the files of a deleted one."""
        return SourceJob(tenant=self.tenant, source_id=self.id)

    @property
    def group(self) -> "SourceGroup | None":
        """The group whose index contains the source; None if agents may not use the source now."""
        if not self.enabled or self.deleted or self.text is None:
            return None
        return SourceGroup(self.audience, self.roles, tuple(sorted(set(self.agents))))

    def to_item(self, due_at: datetime | None) -> Item:
        """Return the table attributes, with `due_at` as the time at which the source's job runs."""
        due = due_pointer("source", self.key, due_at) if due_at is not None else NOT_DUE
        return {**self.attributes(), **{name: at for name, at in due.items() if at is not None}}


class SourceVersion(Stored):
    """One version of a source: the fields and the text that the source had then.

    Attributes:
        restored_from: The earlier version that this version restores, if any.
    """

    PREFIX: ClassVar = SortKeyPrefix("SOURCEVERSION#")

    tenant: Tenant
    source_id: Identifier
    version: int
    text: SourceText
    changed_at: Instant | None
    changed_by: Identifier | None = None
    restored_from: int | None = None
    fields: dict[str, Any]

    @classmethod
    def of(cls, source: Source, *, restored_from: int | None = None) -> "SourceVersion":
        """Return the current version of a source."""
        same = ("tenant", "version", "text", "changed_at", "changed_by")
        return cls(
            **{name: getattr(source, name) for name in same},
            source_id=source.id,
            restored_from=restored_from,
            fields=source.model_dump(mode="json", include=set(SOURCE_FIELDS), exclude_none=True),
        )

    @staticmethod
    def partition(tenant: str, source_id: str) -> str:
        return f"{sources_partition(tenant)}#{key_part(source_id)}#VERSIONS"

    @staticmethod
    def key_of(tenant: str, source_id: str, version: int) -> "Key[SourceVersion]":
        """Return the key of a version; newer versions sort before older ones."""
        sk = f"{SourceVersion.PREFIX}{LAST_VERSION - version:08d}"
        return Key(SourceVersion.partition(tenant, source_id), sk)

    @property
    def key(self) -> "Key[SourceVersion]":
        return self.key_of(self.tenant, self.source_id, self.version)


class SourceGroup(NamedTuple):
    """The sources for the same audience and the same agents, which share an index.

    Attributes:
        agents: The ids of the agents; empty for all.
    """

    audience: SourceAudience
    roles: tuple[RoleName, ...]
    agents: tuple[Identifier, ...]


class IndexedGroup(Value):
    """The sources that the same readers and agents may use, and the file of their index."""

    audience: SourceAudience
    roles: tuple[RoleName, ...] = ()
    agents: tuple[Identifier, ...] = ()
    file: str
    passages: int
    characters: int

    @property
    def group(self) -> SourceGroup:
        return SourceGroup(self.audience, self.roles, self.agents)


class KnowledgeHead(Stored):
    """The list of the files that prompts search now. A change replaces the list in one write.

    Attributes:
        version: The optimistic lock.
        building: The files that a change is about to store. If the change's worker dies, the files
            stay listed, and the next change deletes them.
        stale: Replaced files that are still to be deleted.
    """

    KEY: ClassVar = TenantKey("#SOURCES", "HEAD")

    tenant: Tenant
    version: int = 0
    groups: tuple[IndexedGroup, ...] = ()
    building: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

    @staticmethod
    def key_of(tenant: str) -> "Key[KnowledgeHead]":
        return KnowledgeHead.KEY.of(tenant)

    @property
    def key(self) -> "Key[KnowledgeHead]":
        return self.key_of(self.tenant)


def sources_partition(tenant: str) -> str:
    return KnowledgeHead.key_of(tenant).pk
