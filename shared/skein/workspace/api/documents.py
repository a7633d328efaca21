"""Requests and resources of the HTTP API: documents and skills."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from skein.models.api.base import CreatedAt, Page, Request, Resource
from skein.models.common.base import Instant
from skein.models.common.json_types import NUMBER, JsonBool
from skein.workspace.models.document import DEFAULT_MEDIA_TYPE, Document, DocumentName, MediaType
from skein.workspace.models.skill import (
    Skill,
    SkillFields,
    SkillHead,
    SkillName,
    SkillText,
)

ForVersion = Annotated[
    int | None,
    Field(ge=1, description="Fails with 409 if the document has another version."),
    NUMBER,
]
Global = Annotated[
    JsonBool, Field(alias="global", description="Whether prompts always show the document.")
]


Public = Annotated[
    JsonBool, Field(description="Whether visitors of web pages may be shown it, too.")
]
ChangedPublic = Annotated[
    JsonBool | None,
    Field(description="Whether visitors of web pages may be shown it, too; open documents only."),
]


class NewDocument(Request):
    """A new document of an agent or a chat."""

    name: Annotated[DocumentName, Field(description="The name.")]
    media_type: Annotated[
        MediaType, Field(description="The media type of the text, such as `text/markdown`.")
    ] = DEFAULT_MEDIA_TYPE
    text: Annotated[str, Field(description="At most 256 KiB of UTF-8.")] = ""
    pinned: Global = False
    public: Public = False


class DocumentText(Request):
    """The new text of a document. An omitted or null media type stays unchanged."""

    text: Annotated[str, Field(description="At most 256 KiB of UTF-8.")]
    media_type: Annotated[
        MediaType | None, Field(description="The media type of the text, such as `text/markdown`.")
    ] = None
    pinned: Annotated[
        JsonBool | None,
        Field(alias="global", description="Whether prompts always show the document."),
    ] = None
    public: ChangedPublic = None
    version: ForVersion = None


class DocumentChange(Request):
    """Changes to a document. Omitted and null fields stay unchanged."""

    append: Annotated[str | None, Field(description="Text to append to the document.")] = None
    find: Annotated[
        str | None, Field(min_length=1, description="Text to replace; must occur exactly once.")
    ] = None
    replace: Annotated[str | None, Field(description="Text that replaces `find`.")] = None
    media_type: Annotated[
        MediaType | None, Field(description="The media type of the text, such as `text/markdown`.")
    ] = None
    pinned: Annotated[
        JsonBool | None,
        Field(alias="global", description="Whether prompts always show the document."),
    ] = None
    public: ChangedPublic = None
    version: ForVersion = None

    @model_validator(mode="after")
    def _whole_edit(self) -> Self:
        if (self.find is None) != (self.replace is None):
            raise ValueError("find and replace must be given together")
        return self


class DocumentHead(Resource):
    """A document without its text."""

    id: Annotated[str, Field(description="Derived from the name.")]
    name: Annotated[str, Field(description="The name.")]
    media_type: Annotated[
        str, Field(description="The media type of the text, such as `text/markdown`.")
    ]
    version: Annotated[int, Field(description="The version, a number that each change raises.")]
    pinned: Global
    public: Public
    characters: Annotated[int, Field(description="Number of characters of the text.")]
    source_chat_id: Annotated[
        str | None, Field(description="The chat in which the document was made.")
    ]
    source_run_id: Annotated[str | None, Field(description="The run that last wrote the document.")]
    created_at: CreatedAt
    updated_at: Annotated[Instant, Field(description="When the text or a property last changed.")]

    @classmethod
    def of(cls, document: Document) -> Self:
        names = cls.model_fields.keys() - {"pinned", "characters"}
        values = {name: getattr(document, name) for name in names}
        return cls(**values, **{"global": document.pinned}, characters=len(document.text))


class DocumentResource(DocumentHead):
    """A document with its text."""

    text: Annotated[str, Field(description="The text.")]


class DocumentPage(Page[DocumentHead]):
    """A page of documents, in a stable order."""


class SkillBody(SkillFields, Request):
    """The text of a skill, and the threads whose prompts include it."""

    text: Annotated[SkillText, Field(description="The text.")]
    public: Public = False


class NewSkill(SkillBody):
    """A new skill of the tenant."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"name": "stretching", "text": "# Stretching\nHold each stretch."}
        }
    )

    name: Annotated[SkillName, Field(description="Replaces the shipped skill with the same name.")]


class SkillLine(SkillFields, Resource):
    """A skill without its text."""

    name: Annotated[str, Field(description="The name.")]
    shipped: Annotated[bool, Field(description="Whether the skill is part of Skein.")]

    @classmethod
    def listed(cls, head: SkillHead, *, shipped: bool) -> Self:
        """Build one entry of a list."""
        return cls(**dict(head), shipped=shipped)


class SkillResource(SkillLine):
    """A skill with its text."""

    text: Annotated[str, Field(description="The text.")]
    public: Public
    version: Annotated[int, Field(description="The version, a number that each change raises.")]

    @classmethod
    def of(cls, skill: Skill) -> Self:
        return cls(
            **dict(skill.head),
            shipped=skill.tenant is None,
            text=skill.text,
            public=skill.shown_to.public,
            version=skill.version,
        )


class SkillList(Page[SkillLine]):
    """All skills, ordered by name, in one page; there are at most a few hundred."""
