"""Steps of a run: the prompt, the model's answer and the results of its tools."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.runs.completion import (
    AnswerFault,
    ImageRef,
    ModelMessage,
    StableEnd,
    TokenUsage,
    ToolCall,
)
from skein.models.runs.provenance import EntryProvenance, MarkedCitation
from skein.models.runs.recordable import MAX_STEP_BYTES, RESULT_FRAME_BYTES, with_fit_names
from skein.models.runs.requested_call import AgreedCall
from skein.models.runs.run import NEWER_MARKS, PromptMark, Run
from skein.models.runs.tool_arguments import repeatable

MAX_PROMPT_BYTES = 300_000  # DynamoDB allows 400 KB per item, which must also contain the answer
ELEMENT_BYTES, NUMBER_BYTES = 5, 24
MAX_RESULT_BYTES = 60_000  # for all results of one step together
HISTORY = "CHAT HISTORY"
PICTURES = "PICTURES"
FIXED_ANSWER = "none"  # the model's name in a step whose answer did not come from a model

ToolStatus = Literal["done", "correctable", "failed", "asked", "unknown"]
"""`asked`: someone must approve the call first. `unknown`: the write may have happened or not."""

TurnRole = Literal["user", "assistant"]

STEP = "#STEP#"  # between the sort key of a run and the number of its step


class PromptSection(Value):
    """One section of a prompt: its name, its size in tokens and its text."""

    name: str
    tokens: int
    text: str


class ToolTokens(Value):
    """The tokens that a tool adds to each request."""

    name: Annotated[str, Field(description="The name of the tool.")]
    tokens: Annotated[int, Field(description="The tokens of its name, description and schema.")]


class HistoryTurn(Value):
    """One message of the history, with a role of the chat-completion API."""

    role: Annotated[
        TurnRole, Field(description="The role of the message in the chat-completion API.")
    ]
    text: Annotated[str, Field(description="The text.")]


class PromptRecord(Value):
    """The prompt of an activation, as the model received it.

    Attributes:
        sections: The sections in order. If the history is in `turns`, its section has no text.
        total_tokens: The tokens of all sections, including the blank lines between them.
        stable: The number of sections that are the same in the next turn's prompt. They come first,
            before the history.
        turns: The history as messages with roles; null if the history is a section.
        current: Position in `turns` of the message to answer; without such a message, the end of
            `turns`.
        nudge: The text of the final user message, if the prompt does not end with a message to
            answer.
        marks: Notes on how the prompt was built, e.g. that content was left out.
        entries: The sources of individual entries of sections.
        tools: In a preview, the tokens that each tool adds to a request; otherwise empty.
        images: The pictures that follow the section PICTURES, by reference.
    """

    sections: tuple[PromptSection, ...]
    total_tokens: int
    stable: int = 0
    turns: tuple[HistoryTurn, ...] | None = None
    current: int = 0
    nudge: str = ""
    marks: tuple[PromptMark, ...] = ()
    entries: tuple[EntryProvenance, ...] = ()
    tools: Annotated[tuple[ToolTokens, ...], Field(exclude_if=lambda tools: not tools)] = ()
    images: Annotated[tuple[ImageRef, ...], Field(exclude_if=lambda images: not images)] = ()

    @property
    def cited(self) -> list[MarkedCitation]:
        """The passages that the prompt shows, each with its mark."""
        return [entry.cites for entry in self.entries if entry.cites is not None]

    def messages(self) -> tuple[ModelMessage, ...]:
        """Return the prompt as messages of a chat completion.

        A prompt with a timeline is one system message. In a prompt with roles, the agent's own
        messages have the role `assistant` and all others `user`. The sections that change from turn
        to turn form a second system message just before the current message, so that the provider
        can cache the part before it. The pictures are one user message after the sections.
        """
        if self.turns is None:
            everything = _joined(self.sections)
            return (
                ModelMessage(role="system", content=everything),
                *self._pictures(),
                ModelMessage(role="user", content=self.nudge),
            )
        spoken = [ModelMessage(role=turn.role, content=turn.text) for turn in self.turns]
        spoken[self.current : self.current] = self._pictures()
        changing = _joined(self.sections[self.stable :])
        if changing:
            spoken.insert(self.current, ModelMessage(role="system", content=changing))
        if self.nudge:
            spoken.append(ModelMessage(role="user", content=self.nudge))
        return (ModelMessage(role="system", content=_joined(self.sections[: self.stable])), *spoken)

    def stable_end(self) -> StableEnd:
        """Return the end of the part that the next turn's prompt repeats unchanged."""
        if self.turns is None:
            stable, after = self.sections[: self.stable], self.sections[self.stable :]
            grows = after[: bool(after) and after[0].name == HISTORY]
            return StableEnd(0, len(_joined(stable)), len(_joined(stable + grows)))
        return StableEnd(1 + self.current)

    def _pictures(self) -> tuple[ModelMessage, ...]:
        return tuple(
            ModelMessage(role="user", content=section.text, images=self.images)
            for section in self.sections
            if section.name == PICTURES
        )

    def readable(self) -> "PromptRecord":
        """Return the record for people: each section with its text, including the history's turns.

        Each turn begins a line. Further lines of a message are indented, so that no text can look
        like another turn.
        """
        if self.turns is None:
            return self
        spoken = "\n".join(
            f"{turn.role}: " + "\n  ".join(turn.text.splitlines()) for turn in self.turns
        )
        sections = tuple(
            s.model_copy(update={"text": spoken}) if s.name == HISTORY else s for s in self.sections
        )
        return self.model_copy(update={"sections": sections, "turns": None})

    def packed(self, most_bytes: int = MAX_PROMPT_BYTES) -> bytes:
        """Compress the record for the table; the longest texts are cut to fit `most_bytes`."""
        marks = tuple(mark for mark in self.marks if mark not in NEWER_MARKS)  # the run has those
        record = self.model_copy(update={"marks": marks})
        while len(data := record._compressed()) > most_bytes:
            record = record._with_longest_cut()
        return data

    def _compressed(self) -> bytes:
        return zlib.compress(self.model_dump_json(exclude_none=True).encode())

    def _with_longest_cut(self) -> "PromptRecord":
        turns = self.turns or ()
        texts = [*(part.text for part in self.sections), *(turn.text for turn in turns)]
        longest = max(texts, key=len)
        cut = f"{longest[: len(longest) // 2]} [cut for storage]"
        sections = (
            s.model_copy(update={"text": cut}) if s.text == longest else s for s in self.sections
        )
        shorter = (t.model_copy(update={"text": cut}) if t.text == longest else t for t in turns)
        return self.model_copy(
            update={"sections": tuple(sections), "turns": self.turns and tuple(shorter)}
        )

    @classmethod
    def unpacked(cls, data: bytes) -> "PromptRecord":
        """Return the record from the bytes that `packed` made."""
        return cls.model_validate_json(zlib.decompress(data))


def _size_of(value: object) -> int:
    """Return an upper bound for the bytes that a value takes in an item."""
    if isinstance(value, dict):
        return sum(ELEMENT_BYTES + _size_of(name) + _size_of(part) for name, part in value.items())
    if isinstance(value, list):
        return sum(ELEMENT_BYTES + _size_of(part) for part in value)
    return len(value.encode()) if isinstance(value, str) else NUMBER_BYTES


def _joined(sections: tuple[PromptSection, ...]) -> str:
    return "\n\n".join(part.text for part in sections if part.text and part.name != PICTURES)


class CallUsage(Value):
    """How long a call to a service took, how many tries it needed, and how large it was."""

    seconds: Annotated[float, Field(description="How long it took, with its retry.")]
    tries: Annotated[int, Field(description="How often it was sent.")]
    bytes: Annotated[int, Field(description="The bytes of the answer.")]
    http_status: Annotated[
        int | None, Field(description="The HTTP status of the answer; null without one.")
    ] = None
    cost: Annotated[
        float,
        Field(
            description="What all tries cost, by `cost_per_call`.", exclude_if=lambda cost: not cost
        ),
    ] = 0


class ToolResult(Value):
    """The result of a tool call; `content` is the text that was shown to the model."""

    call_id: Annotated[str, Field(description="The id of the tool call.")]
    name: Annotated[str, Field(description="The name of the tool.")]
    status: Annotated[ToolStatus, Field(description="Whether the tool did its work.")]
    content: Annotated[str, Field(description="The text that the model was shown.")]
    usage: Annotated[
        CallUsage | None,
        Field(
            description="For a tool of the tenant, its time, tries and size; null otherwise.",
            exclude_if=lambda usage: usage is None,
        ),
    ] = None


class BegunCall(Value):
    """A write to a service that a step has begun; kept until the results of all calls are recorded.

    Attributes:
        position: The position of the call in the step.
        result: The result; None until the call has ended.
    """

    position: int
    result: ToolResult | None = None


class ModelFailure(Value):
    """A model that did not answer, so that a fallback answered instead, and the reason."""

    model: Annotated[str, Field(description="The agent's own model.")]
    error: Annotated[str, Field(description="Why it did not answer.")]


class Step(Stored):
    """One answer of the model, recorded before its tool calls are carried out.

    Attributes:
        n: The number of the step in the run, from 1, counted over all activations.
        activation: The number of the activation, from 1; each activation has its own prompt.
        model: The model that answered; `FIXED_ANSWER` if no model was asked.
        fault: Why the answer can't be used; None for a usable answer.
        follow_up: The message with which the model is asked again after this answer; None if the
            model is not asked again. The message is recorded with the answer, so that a worker that
            takes over sends the same one.
        results: The results of the tool calls; None until all calls have been carried out.
        begun: The writes to services that have begun, with the results so far; cleared once all
            results are recorded. The ledger of calls now records which writes have begun; release
            0.3.0 recorded them in this field.
        answered: The first and the last message that the activation answers, if the agent has a
            writing tool of the tenant.
        agreed: The approved calls that the step makes without asking a model, by their position in
            the step. Empty for a step with a model's answer.
        ends_run: Whether the run ends after the step's calls without asking the model again. This
            is recorded with the results, so that a worker that takes over makes the same decision.
        instead_of: The agent's own model, if a fallback answered.
        cache_written_tokens: See `TokenUsage`; stored here and not in `usage`.
        cited: The passages that the calls showed, with the marks by which later answers cite them.
        prompt: The packed `PromptRecord`, in the first step of each activation only.
        expires_at: When the step expires, in seconds since 1970, if its tenant limits retention.
    """

    tenant: Tenant
    run_id: Identifier
    n: int
    activation: int = 1
    model: str
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    fault: AnswerFault | None = None
    follow_up: str | None = None
    results: tuple[ToolResult, ...] | None = None
    begun: Annotated[tuple[BegunCall, ...], Field(exclude_if=lambda begun: not begun)] = ()
    answered: Annotated[tuple[int, int] | None, Field(exclude_if=lambda seqs: seqs is None)] = None
    agreed: Annotated[tuple[AgreedCall, ...], Field(exclude_if=lambda calls: not calls)] = ()
    ends_run: Annotated[bool, Field(exclude_if=lambda ends: not ends)] = False
    cited: Annotated[tuple[MarkedCitation, ...], Field(exclude_if=lambda cited: not cited)] = ()
    usage: TokenUsage
    instead_of: Annotated[
        ModelFailure | None, Field(exclude_if=lambda failure: failure is None)
    ] = None
    cache_written_tokens: Annotated[int, Field(exclude_if=lambda tokens: not tokens)] = 0
    prompt: bytes | None = None
    expires_at: int | None = None
    started_at: Instant
    ended_at: Instant

    @model_validator(mode="before")
    @classmethod
    def _with_written_tokens(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Copy `cache_written_tokens` from `usage` to the step's own field, or back from there.

        Release 0.3.0 rejects the tokens inside of `usage`.
        """
        usage, written = data.get("usage"), data.get("cache_written_tokens")
        if isinstance(usage, TokenUsage):
            return {**data, "cache_written_tokens": usage.cache_written_tokens}
        if not written or usage is None:
            return data
        return {**data, "usage": {**usage, "cache_written_tokens": written}}

    def arguments_at(self, position: int) -> str | None:
        """Return the arguments of a call as JSON, or None if they were erased."""
        return self.tool_calls[position].arguments if position < len(self.tool_calls) else None

    @staticmethod
    def key_of(tenant: str, run_id: str, n: int) -> "Key[Step]":
        run = Run.key_of(tenant, run_id)
        return Key(run.pk, f"{Step.prefix_of(run)}{n:03d}")

    @staticmethod
    def prefix_of(run: Key) -> SortKeyPrefix:
        """Return the sort key prefix of a run's steps, which are in the run's partition."""
        return SortKeyPrefix(f"{run.sk}{STEP}")

    @staticmethod
    def is_stored_as(item: Item) -> bool:
        """Return whether an item is a step; the caller knows that it is a step or a run."""
        return STEP in str(item["sk"])

    @property
    def key(self) -> "Key[Step]":
        return self.key_of(self.tenant, self.run_id, self.n)

    def to_item(self) -> Item:
        item = self.model_dump(mode="json", exclude_none=True, exclude={"prompt"})
        return item if self.prompt is None else item | {"prompt": self.prompt}

    @property
    def kept_prompt(self) -> PromptRecord | None:
        """The prompt that the step holds; None if it has none, or the prompt was erased."""
        prompt = PromptRecord.unpacked(self.prompt) if self.prompt else None
        return prompt if prompt is not None and prompt.sections else None

    @property
    def tool_cost(self) -> float:
        """The cost of the calls of the tenant's tools."""
        results = self.results or ()
        return sum(each.usage.cost for each in results if each.usage is not None)

    @property
    def is_final(self) -> bool:
        """Whether the run ends with this answer: it calls no tool and has no follow-up."""
        return not self.tool_calls and self.follow_up is None

    @property
    def is_last(self) -> bool:
        """Whether the run ends with this answer, now or after its calls."""
        return self.is_final or self.ends_run

    @property
    def prompt_bytes_left(self) -> int:
        """The bytes left for the prompt in the step's item."""
        answer = _size_of(self.model_copy(update={"prompt": None}).to_item())
        results = len(self.tool_calls) * RESULT_FRAME_BYTES
        results += MAX_RESULT_BYTES if self.tool_calls else 0
        return min(MAX_PROMPT_BYTES, MAX_STEP_BYTES - answer - results)

    def messages(self) -> tuple[ModelMessage, ...]:
        """Return the answer and the tool results as messages of the next model request.

        A follow-up comes last, as a user message. An empty answer is left out, because some
        providers refuse it. A filtered answer is left out, because it would be filtered again.

        Providers refuse a call if its arguments are not a JSON object, or if its id or name does
        not match the required format. Such calls are changed to a form that providers accept.
        """
        calls = tuple(
            call.model_copy(update={"arguments": repeatable(call.arguments), "cut_from": None})
            for call in with_fit_names(self.tool_calls, n=self.n)
        )
        answer = ModelMessage(role="assistant", content=self.text, tool_calls=calls)
        if self.follow_up is not None:
            asked = ModelMessage(role="user", content=self.follow_up)
            hidden = not self.text.strip() or self.fault == "filtered"
            return (asked,) if hidden else (answer, asked)
        results = zip(calls, self.results or (), strict=False)  # empty before the calls ran
        return (
            answer,
            *(
                ModelMessage(role="tool", content=result.content, tool_call_id=call.id)
                for call, result in results
            ),
        )


PROMPT_GONE = "the run has no prompt: it has none yet, or the prompt was erased or has expired"


def newest_prompt(steps: Sequence[Step]) -> tuple[Step, PromptRecord] | None:
    """Return the prompt of the newest activation and its step; None if there is none any more."""
    newest = max((step.activation for step in steps), default=0)
    of_newest = ((step, step.kept_prompt) for step in steps if step.activation == newest)
    return next(((step, prompt) for step, prompt in of_newest if prompt is not None), None)
