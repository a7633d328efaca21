"""Resources of the HTTP API: prompts as operators inspect them, and replays."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Self

from pydantic import Field

from skein.models.api.base import Request, Resource
from skein.models.common.base import Instant
from skein.models.directory.agent import SystemPrompt
from skein.models.quotas.prices import Money
from skein.models.runs.completion import AnswerFault, TokenUsage, ToolCall
from skein.models.runs.provenance import EntryKind, EntryProvenance
from skein.models.runs.run import PromptMark
from skein.models.runs.step import HistoryTurn, PromptRecord, PromptSection

MAX_SECTION = 200_000


class Provenance(NamedTuple):
    """Where a section's content comes from, and why it may be shown in a prompt."""

    source: str
    why: str


OWN = "It belongs to the agent or to Skein and holds no person's words."
READERS = "Everyone who reads this chat may read its messages."
PRESENT = "Everyone who reads this chat was present where it was said, or it is open."
ONE_PERSON = "The chat is private, and its only person is the one described."
PROVENANCES: dict[str, Provenance] = {
    "IDENTITY": Provenance("The agent's name and system prompt.", OWN),
    "INSTRUCTIONS": Provenance("Skein's instructions for this situation.", OWN),
    "SKILLS": Provenance("The skills of the tenant and those that come with Skein.", OWN),
    "USER PROFILE": Provenance("The record of the chat's person.", ONE_PERSON),
    "CORE MEMORIES": Provenance("The agent's core memories.", PRESENT),
    "GLOBAL DOCUMENTS": Provenance("The agent's and the chat's global documents.", PRESENT),
    "ACTIVE THREAD": Provenance("The agent's active thread.", PRESENT),
    "PENDING THREADS": Provenance("The agent's other open threads.", PRESENT),
    "GOALS": Provenance("The agent's active goals.", PRESENT),
    "JOURNAL": Provenance("The agent's journal entries.", PRESENT),
    "LAST CONVERSATION": Provenance("The end of the session before.", READERS),
    "CONVERSATION SUMMARY": Provenance("The summary of older messages of this chat.", READERS),
    "PARTICIPANTS": Provenance("The members of this chat.", READERS),
    "CHAT HISTORY": Provenance("The messages of this chat.", READERS),
    "ACTIVE CHAT": Provenance("This chat.", READERS),
    "CONVERSATION": Provenance("The session of this chat.", READERS),
    "YOUR CHATS": Provenance("The agent's other chats.", PRESENT),
    "OTHER ACTIVE CONVERSATIONS": Provenance("The agent's summaries of other chats.", PRESENT),
    "BORROWED CONTEXT": Provenance("Messages of another chat.", PRESENT),
    "RECALLED": Provenance("Older messages that match the new ones.", PRESENT),
    "PLANS": Provenance("The agent's plans.", PRESENT),
    "ACTIVE RUNS": Provenance("The agent's other runs.", PRESENT),
    "TRIGGER": Provenance("The trigger of the run.", PRESENT),
    "TODAY": Provenance("The clock.", OWN),
    "NOW": Provenance("The clock.", OWN),
}
ELSEWHERE = Provenance("The agent's data.", PRESENT)


HERE = "It is from this chat, or everyone who reads this chat was present where it was said."
EVERYONE = "It is open, so everyone in the tenant may see it."


class EntryResource(Resource):
    """Where one entry of a section comes from, and why it may be shown."""

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
        """Build the resource of an entry."""
        own = entry.model_dump(exclude={"section", "open"})
        return cls(may_be_shown=EVERYONE if entry.open else HERE, **own)


class SectionResource(Resource):
    """One section of a prompt."""

    name: str
    tokens: int
    text: str
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
    def of(
        cls,
        section: PromptSection,
        entries: Sequence[EntryProvenance],
        cached_tokens: int | None = None,
    ) -> Self:
        """Build the resource of a section.

        Args:
            section: The section.
            entries: The entries of the whole prompt.
            cached_tokens: How many tokens came from the cache; None in a preview.
        """
        source, why = PROVENANCES.get(section.name, ELSEWHERE)
        own = (entry for entry in entries if entry.section == section.name)
        return cls(
            **section.model_dump(),
            source=source,
            may_be_shown=why,
            cached_tokens=cached_tokens,
            entries=tuple(map(EntryResource.of, own)),
        )


class PromptResource(Resource):
    """The prompt of an activation."""

    sections: tuple[SectionResource, ...]
    total_tokens: int
    stable: Annotated[int, Field(description="Number of sections before the `turns`.")]
    turns: tuple[HistoryTurn, ...] | None
    current: int
    nudge: str
    marks: tuple[PromptMark, ...]
    cached_share: Annotated[
        float | None,
        Field(description="The share of the first request's tokens that the cache served, 0 to 1."),
    ]

    @classmethod
    def of(cls, prompt: PromptRecord, first: TokenUsage | None) -> Self:
        """Build the resource of a prompt.

        A cache serves the beginning of a request, which is the tools and then the sections.

        Args:
            prompt: The prompt, readable.
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
            sections.append(SectionResource.of(section, prompt.entries, cached))
        share = None
        if first is not None and first.input_tokens:
            share = round(first.cached_tokens / first.input_tokens, 4)
        kept = ("total_tokens", "stable", "turns", "current", "nudge", "marks")
        shared = {name: getattr(prompt, name) for name in kept}
        return cls(sections=tuple(sections), cached_share=share, **shared)


class ReplayEdit(Request):
    """The edits with which a prompt is replayed; without any, it is replayed as it was."""

    system_prompt: Annotated[
        SystemPrompt | None, Field(description="The system prompt to use in IDENTITY.")
    ] = None
    sections: Annotated[
        dict[str, Annotated[str, Field(max_length=MAX_SECTION)]] | None,
        Field(description="Whole texts of other sections, by name.", max_length=30),
    ] = None


class ReplayResource(Resource):
    """The answer to a replayed prompt; no tool was carried out and nothing was stored."""

    run_id: str
    model: str
    text: str
    tool_calls: Annotated[
        tuple[ToolCall, ...], Field(description="The tools that the model wanted to call.")
    ]
    fault: AnswerFault | None
    prompt: PromptResource
    usage: TokenUsage
    money: Annotated[Money | None, Field(description="Null if the tenant has set no prices.")]
    started_at: Instant
    ended_at: Instant
