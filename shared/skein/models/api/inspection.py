"""Resources of the HTTP API: prompts as operators inspect them, and replays."""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import Request, Resource
from skein.models.common.base import Instant
from skein.models.common.prompt_sections import SECTIONS, UNKNOWN
from skein.models.directory.agent import SystemPrompt
from skein.models.quotas.prices import Money
from skein.models.runs.completion import AnswerFault, ImageRef, TokenUsage, ToolCall
from skein.models.runs.provenance import EntryKind, EntryProvenance
from skein.models.runs.run import PromptMark
from skein.models.runs.step import HistoryTurn, PromptRecord, PromptSection

MAX_SECTION = 200_000


HERE = "It is from this chat, or everyone who reads this chat was present when it was said."
EVERYONE = "It is open, so everyone in the tenant may see it."


class EntryResource(Resource):
    """Where one entry of a prompt's section comes from, and why the entry may be shown."""

    kind: Annotated[
        EntryKind, Field(description="What the entry is; `borrowed` is the context of a chat.")
    ]
    id: Annotated[str | None, Field(description="The memory or the document; null for messages.")]
    chat_id: Annotated[
        str | None, Field(description="The chat of the words; null if they come from no chat.")
    ]
    from_seq: Annotated[int | None, Field(description="The first message of the words.")]
    to_seq: Annotated[int | None, Field(description="The last message of the words.")]
    at: Annotated[Instant | None, Field(description="When the words were written.")]
    may_be_shown: Annotated[str, Field(description="Why the entry may be shown here.")]

    @classmethod
    def of(cls, entry: EntryProvenance) -> Self:
        own = entry.model_dump(exclude={"section", "open"})
        return cls(may_be_shown=EVERYONE if entry.open else HERE, **own)


class SectionResource(Resource):
    """One section of a prompt."""

    name: Annotated[str, Field(description="The name.")]
    tokens: Annotated[int, Field(description="Tokens of the section.")]
    text: Annotated[str, Field(description="The text.")]
    source: Annotated[str, Field(description="Where the content comes from.")]
    may_be_shown: Annotated[str, Field(description="Why the content may be shown here.")]
    cached_tokens: Annotated[
        int | None,
        Field(
            description="How many of the tokens the provider's prefix cache served, estimated from "
            "the count of the whole request; null in a preview."
        ),
    ]
    entries: Annotated[
        tuple[EntryResource, ...],
        Field(
            description="Recalled messages, memories, documents and borrowed context, in the order "
            "of the text; empty for other sections and for runs from before this list."
        ),
    ]

    @classmethod
    def from_parts(
        cls,
        section: PromptSection,
        entries: Sequence[EntryProvenance],
        cached_tokens: int | None = None,
    ) -> Self:
        """Build the resource of a section.

        Args:
            entries: The entries of the whole prompt.
            cached_tokens: How many tokens came from the cache; None in a preview.
        """
        note = SECTIONS.get(section.name, UNKNOWN)
        own = (entry for entry in entries if entry.section == section.name)
        return cls(
            **section.model_dump(),
            source=note.source,
            may_be_shown=note.why,
            cached_tokens=cached_tokens,
            entries=tuple(map(EntryResource.of, own)),
        )


class PromptResource(Resource):
    """The prompt of an activation."""

    sections: Annotated[tuple[SectionResource, ...], Field(description="The sections, in order.")]
    total_tokens: Annotated[int, Field(description="Tokens of all sections together.")]
    stable: Annotated[int, Field(description="Number of sections before the `turns`.")]
    turns: Annotated[
        tuple[HistoryTurn, ...] | None,
        Field(
            description="The history as messages with roles, if the agent's history format is "
            "`roles`."
        ),
    ]
    current: Annotated[
        int,
        Field(
            description="The position in `turns` of the message to answer; the end if there is "
            "none."
        ),
    ]
    nudge: Annotated[
        str,
        Field(
            description="The text of the final user message, if no message to answer comes last."
        ),
    ]
    marks: Annotated[
        tuple[PromptMark, ...], Field(description="Notes on how the prompt was built.")
    ]
    images: Annotated[
        tuple[ImageRef, ...],
        Field(
            description="The pictures that the model was sent after the section PICTURES, by "
            "reference; `GET /v1/chats/{chat_id}/media/{id}` loads one that is still stored."
        ),
    ]
    cached_share: Annotated[
        float | None,
        Field(description="The share of the first request's tokens that the cache served, 0 to 1."),
    ]

    @classmethod
    def from_parts(cls, prompt: PromptRecord, first: TokenUsage | None) -> Self:
        """Build the resource of a prompt.

        The provider's prefix cache serves the beginning of a request: the tools, then the sections.

        Args:
            prompt: The prompt in the form of `PromptRecord.readable`.
            first: The usage of the first request with this prompt.
        """
        left = None
        if first is not None:
            tools = max(first.input_tokens - prompt.total_tokens, 0)
            left = max(first.cached_tokens - tools, 0)
        sections = []
        for section in prompt.sections:
            cached = None if left is None else min(section.tokens, left)
            left = None if left is None or cached is None else left - cached
            sections.append(SectionResource.from_parts(section, prompt.entries, cached))
        share = None
        if first is not None and first.input_tokens:
            share = round(first.cached_tokens / first.input_tokens, 4)
        kept = ("total_tokens", "stable", "turns", "current", "nudge", "marks", "images")
        shared = {name: getattr(prompt, name) for name in kept}
        return cls(sections=tuple(sections), cached_share=share, **shared)


class ReplayEdit(Request):
    """Edits to a prompt that is replayed; without edits, the prompt is replayed unchanged."""

    system_prompt: Annotated[
        SystemPrompt | None, Field(description="The system prompt to use in IDENTITY.")
    ] = None
    sections: Annotated[
        dict[str, Annotated[str, Field(max_length=MAX_SECTION)]] | None,
        Field(description="Whole texts of other sections, by name.", max_length=30),
    ] = None


class ReplayResource(Resource):
    """The model's answer to a replayed prompt; no tool was called, and nothing was stored."""

    run_id: Annotated[str, Field(description="The id of a run.")]
    model: Annotated[str, Field(description="The name of a model.")]
    text: Annotated[str, Field(description="The text.")]
    tool_calls: Annotated[
        tuple[ToolCall, ...], Field(description="The tools that the model wanted to call.")
    ]
    fault: Annotated[
        AnswerFault | None,
        Field(description="Why the answer could not be used as it is; null if it could."),
    ]
    prompt: Annotated[PromptResource, Field(description="The prompt with the edits.")]
    usage: Annotated[TokenUsage, Field(description="The tokens that were used.")]
    money: Annotated[Money | None, Field(description="Null if the tenant has set no prices.")]
    started_at: Annotated[Instant, Field(description="When it started; null before.")]
    ended_at: Annotated[Instant, Field(description="When it ended; null before.")]
