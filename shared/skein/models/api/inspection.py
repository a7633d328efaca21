"""Resources of the HTTP API: prompts as operators inspect them, and replays."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Self

from pydantic import Field

from skein.models.api.base import Request, Resource
from skein.models.common.base import Instant
from skein.models.directory.agent import SystemPrompt
from skein.models.quotas.prices import Money
from skein.models.runs.completion import AnswerFault, ImageRef, TokenUsage, ToolCall
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
    "INSTRUCTIONS": Provenance(
        "How to speak and how to stay silent, by the chat, the channel and the tools.", OWN
    ),
    "SKILLS": Provenance("The skills of the active thread, in full or by name.", OWN),
    "USER PROFILE": Provenance(
        "In a private direct chat, the person's record and the fields that the agent may set.",
        ONE_PERSON,
    ),
    "CORE MEMORIES": Provenance("The agent's core memories, newest first.", PRESENT),
    "GLOBAL DOCUMENTS": Provenance(
        "The agent's pinned documents, then those of this chat.", PRESENT
    ),
    "ACTIVE THREAD": Provenance("The active thread with its documents.", PRESENT),
    "PENDING THREADS": Provenance("The other open threads, one line each.", PRESENT),
    "GOALS": Provenance("The agent's active goals, most important first.", PRESENT),
    "JOURNAL": Provenance("The agent's journal entries, newest first.", PRESENT),
    "YOUR CHATS": Provenance(
        "The agent's 20 most recently active chats, if a tool takes ids of chats. If the agent has "
        "more, the section follows the history.",
        PRESENT,
    ),
    "ACTIVE CHAT": Provenance(
        "This chat's name, if neither the history nor the trigger has it; or that there is none.",
        READERS,
    ),
    "CONVERSATION": Provenance(
        "In a direct chat, when this session began, and how: after a gap or with a reset.",
        READERS,
    ),
    "CONVERSATION SUMMARY": Provenance(
        "The summary of the messages before the history window.", READERS
    ),
    "PARTICIPANTS": Provenance(
        "The members of this chat, then senders who have left; not for one person and one agent.",
        READERS,
    ),
    "TODAY": Provenance("The weekday and the date, in the time zone of NOW.", OWN),
    "CHAT HISTORY": Provenance(
        "The messages of the history window by day, as lines or as messages of roles.", READERS
    ),
    "PICTURES": Provenance(
        "The newest pictures of the history, if the model takes pictures; they are one message.",
        READERS,
    ),
    "LAST CONVERSATION": Provenance(
        "In a direct chat, the summary of the person's last session, if it was in another one.",
        READERS,
    ),
    "OTHER ACTIVE CONVERSATIONS": Provenance(
        "The agent's summaries of chats with a message in the last six hours; in a direct chat, "
        "also of the person's three newest other chats.",
        PRESENT,
    ),
    "BORROWED CONTEXT": Provenance(
        "Messages of another chat that the agent asked to see, shown once.", PRESENT
    ),
    "RECALLED": Provenance(
        "Older messages of all the agent's chats that match the new ones, by chat and day.", PRESENT
    ),
    "PLANS": Provenance("The agent's plans, the next one first.", PRESENT),
    "OUTREACH": Provenance(
        "That the agent wrote to the person of this chat for an operator, and about what, for two "
        "weeks.",
        READERS,
    ),
    "HANDED BACK": Provenance(
        "Who of the team held this chat, and what they told the agent, while the history begins "
        "before the return.",
        PRESENT,
    ),
    "DONE BEFORE": Provenance(
        "What tools that write did for the messages that the run answers, before this prompt: the "
        "arguments, the result and the time.",
        PRESENT,
    ),
    "OPEN QUESTIONS": Provenance(
        "In a direct chat, the agent's questions that the person can answer now.", READERS
    ),
    "ERRANDS": Provenance(
        "What the agent has asked people elsewhere for this chat, without an answer yet.", PRESENT
    ),
    "ACTIVE RUNS": Provenance("The agent's other runs that work or wait.", PRESENT),
    "DESK": Provenance("That the chat waits for a person of the team, and since when.", READERS),
    "TRIGGER": Provenance(
        "Why the run exists: who or what, where, whom the message names, which other agents were "
        "started, and how a wait ended.",
        PRESENT,
    ),
    "NOW": Provenance("The time to the minute, in a time zone and in UTC.", OWN),
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
            sections.append(SectionResource.from_parts(section, prompt.entries, cached))
        share = None
        if first is not None and first.input_tokens:
            share = round(first.cached_tokens / first.input_tokens, 4)
        kept = ("total_tokens", "stable", "turns", "current", "nudge", "marks", "images")
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
