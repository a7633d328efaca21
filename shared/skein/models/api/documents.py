"""Documents and skills as the HTTP API shows them (DESIGN section 7)."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from skein.models.api.base import Request, Resource
from skein.models.common.base import Instant
from skein.models.workspace.document import DEFAULT_MEDIA_TYPE, Document, DocumentName, MediaType
from skein.models.workspace.skill import (
    Skill,
    SkillDescription,
    SkillHead,
    SkillLabels,
    SkillName,
    SkillText,
)

ForVersion = Annotated[
    int | None, Field(ge=1, description="Refused (409) where the document is at another version.")
]
Global = Annotated[bool, Field(alias="global", description="Shown to the agent whatever it is at.")]


class NewDocument(Request):
    """A document for an agent or a chat."""

    name: DocumentName
    media_type: MediaType = DEFAULT_MEDIA_TYPE
    text: Annotated[str, Field(description="At most 256 KiB of UTF-8.")] = ""
    on_show: Global = False


class DocumentText(Request):
    """A new text for a document; a media type that is left out or null stays."""

    text: Annotated[str, Field(description="At most 256 KiB of UTF-8.")]
    media_type: MediaType | None = None
    on_show: Annotated[bool | None, Field(alias="global")] = None
    version: ForVersion = None


class DocumentChange(Request):
    """What of a document is to change; left out or null, a field stays."""

    append: Annotated[str | None, Field(description="Goes to the end of the text.")] = None
    find: Annotated[
        str | None, Field(min_length=1, description="Stands in the text exactly once.")
    ] = None
    replace: Annotated[str | None, Field(description="What takes its place.")] = None
    media_type: MediaType | None = None
    on_show: Annotated[bool | None, Field(alias="global")] = None
    version: ForVersion = None

    @model_validator(mode="after")
    def _whole_edit(self) -> Self:
        if (self.find is None) != (self.replace is None):
            raise ValueError("find and replace go together")
        return self


class DocumentHead(Resource):
    """A document without its text."""

    id: Annotated[str, Field(description="Follows from the name.")]
    name: str
    media_type: str
    version: int
    on_show: Global
    characters: int
    source_chat_id: Annotated[str | None, Field(description="Where it was last written.")]
    source_run_id: Annotated[str | None, Field(description="The run that wrote it last.")]
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, document: Document) -> Self:
        """The resource of a document."""
        names = cls.model_fields.keys() - {"on_show", "characters"}
        values = {name: getattr(document, name) for name in names}
        return cls(**values, **{"global": document.on_show}, characters=len(document.text))


class DocumentResource(DocumentHead):
    """A document with its text."""

    text: str


class DocumentPage(Resource):
    """A page of documents, in an order that stays."""

    items: tuple[DocumentHead, ...]
    next_cursor: str | None


class SkillBody(Request):
    """What a skill says, and when it is given to a thread."""

    description: SkillDescription = ""
    tags: Annotated[SkillLabels, Field(description="A thread with one of these is given it.")] = ()
    modes: Annotated[SkillLabels, Field(description="So is a thread in one of these.")] = ()
    text: SkillText


class NewSkill(SkillBody):
    """A skill of the tenant's own."""

    name: Annotated[SkillName, Field(description="It takes the place of ours of this name.")]


class SkillLine(Resource):
    """A skill in a list."""

    name: str
    description: str
    tags: tuple[str, ...]
    modes: tuple[str, ...]
    shipped: Annotated[bool, Field(description="It comes with Skein.")]

    @classmethod
    def listed(cls, head: SkillHead, *, shipped: bool) -> Self:
        """A line of a list."""
        return cls(**dict(head), shipped=shipped)


class SkillResource(SkillLine):
    """A skill."""

    text: str
    version: int

    @classmethod
    def of(cls, skill: Skill) -> Self:
        """The resource of a skill."""
        return cls(
            **dict(skill.head),
            shipped=skill.tenant is None,
            text=skill.text,
            version=skill.version,
        )


class SkillList(Resource):
    """All skills by name; there are at most a few hundred, so they make one page."""

    items: tuple[SkillLine, ...]
    next_cursor: str | None = None
