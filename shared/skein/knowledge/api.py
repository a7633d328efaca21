"""Requests and resources of the HTTP API: sources of knowledge."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from skein.knowledge.index import ANSWERS, FoundPassage
from skein.knowledge.models.source import (
    MAX_FILE_BYTES,
    NamedSource,
    SourceFields,
    SourceState,
)
from skein.knowledge.passages import SourcePassage
from skein.media.api import NewUpload
from skein.models.api.base import ChangeRequest, CreatedAt, Id, Page, Request, Resource
from skein.models.common.base import EntityId, Instant, Name
from skein.models.common.json_types import NUMBER
from skein.models.visibility.provenance import Citation
from skein.models.visibility.sharing_rules import RoleName

EXAMPLE: dict[str, Any] = {"name": "Opening hours", "url": "https://shop.example/hours"}
Text = Annotated[
    str | None,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200_000),
    Field(description="The text itself, as Markdown; upload a longer one."),
]
UploadId = Annotated[
    str | None,
    StringConstraints(max_length=200, pattern=r"^[0-9a-z_.-]+$"),
    Field(description="The id of an uploaded file."),
]


class NewSource(NamedSource, Request):
    """A new source, with one of `url`, `upload_id` and `text`."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

    text: Text = None
    upload_id: UploadId = None

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if [self.url, self.text, self.upload_id].count(None) != 2:  # noqa: PLR2004
            raise ValueError("give one of url, upload_id and text")
        return self


class SourceChange(SourceFields, ChangeRequest):
    """Changes to a source. Omitted fields stay unchanged."""

    model_config = ConfigDict(json_schema_extra={"example": {"enabled": False}})

    name: Annotated[Name | None, Field(description="The name.")] = None
    url: Annotated[str | None, Field(max_length=2_000, description="The URL.")] = None
    text: Text = None
    upload_id: UploadId = None


class SourceTextResource(Resource):
    """How much text a version has, and when it was read."""

    characters: Annotated[int, Field(description="Its length in characters.")]
    passages: Annotated[int, Field(description="How many passages it is searched by.")]
    as_of: Annotated[Instant, Field(description="When it was read.")]


class SourceResource(NamedSource, Resource):
    """A source of knowledge."""

    id: Id
    version: Annotated[int, Field(description="The newest version; 0 before a text was read.")]
    state: Annotated[SourceState, Field(description="Whether agents use its newest text.")]
    text: Annotated[SourceTextResource | None, Field(description="The text that agents use.")]
    held: Annotated[SourceTextResource | None, Field(description="A newer text to accept.")]
    error: Annotated[str | None, Field(description="Why the newest text was not taken over.")]
    failures: Annotated[int, Field(description="How often in a row the URL was not read.")]
    checked_at: Annotated[Instant | None, Field(description="When it was last read.")]
    next_at: Annotated[Instant | None, Field(description="When it is read next.")]
    created_at: CreatedAt
    changed_at: Annotated[Instant | None, Field(description="When it was last changed.")]
    changed_by: Annotated[str | None, Field(description="The operator who changed it, if any.")]


class SourcePage(Page[SourceResource]):
    """A page of sources."""


class SourceVersionResource(Resource):
    """One version of a source."""

    version: Annotated[int, Field(description="Its number.")]
    text: Annotated[SourceTextResource, Field(description="Its text.")]
    changed_at: Annotated[Instant, Field(description="When it was made.")]
    changed_by: Annotated[str | None, Field(description="By whom; null: read from the URL.")]
    restored_from: Annotated[int | None, Field(description="The version that it restored.")]
    fields: Annotated[dict[str, Any], Field(description="The fields of the source.")]


class SourceVersionPage(Page[SourceVersionResource]):
    """A page of versions, newest first."""


class WholeSourceText(Resource):
    """The whole text of a version, passage by passage."""

    text: Annotated[str, Field(description="The text, with the place of each passage.")]

    @classmethod
    def of_passages(cls, passages: Sequence[SourcePassage]) -> Self:
        return cls(
            text="\n\n".join(f"[{p.place}]\n{p.text}" if p.place else p.text for p in passages)
        )


class NewSourceUpload(NewUpload):
    """A file that is about to be uploaded for a source."""

    bytes: Annotated[
        int, Field(ge=1, le=MAX_FILE_BYTES, description="The length, at most 2,000,000."), NUMBER
    ]


class SourceSearch(Request):
    """A search of the sources: a question, an agent, and the roles of the readers."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"query": "When are you open?", "agent_id": "agt_1"}}
    )

    query: Annotated[
        str, StringConstraints(min_length=1, max_length=2_000), Field(description="The question.")
    ]
    agent_id: Annotated[EntityId, Field(description="The id of the agent.")]
    roles: Annotated[
        tuple[RoleName, ...],
        Field(max_length=10, description="The roles that all readers have."),
    ] = ()


class FoundPassageResource(Citation, Resource):
    """A passage that a prompt would show."""

    name: Annotated[str, Field(description="The name of the source.")]
    text: Annotated[str, Field(description="The text.")]
    as_of: Annotated[Instant, Field(description="When the text was read.")]
    score: Annotated[float, Field(description="How well it matches.")]


class SourceSearchResult(Resource):
    """The passages that a prompt would show for a question."""

    answered: Annotated[
        bool, Field(description="Whether the best passage matches well enough to be shown.")
    ]
    items: Annotated[
        tuple[FoundPassageResource, ...], Field(description="The best passages, best first.")
    ]

    @classmethod
    def of_passages(cls, found: list[FoundPassage]) -> Self:
        answered = bool(found) and found[0].score >= ANSWERS
        return cls(answered=answered, items=tuple(map(FoundPassageResource.of, found)))
