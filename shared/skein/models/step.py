"""What a model was given and what it answered, one step of a run after another."""

import zlib
from typing import Literal

from skein.models.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.completion import ModelMessage, TokenUsage, ToolCall
from skein.models.recordable import MAX_STEP_BYTES, RESULT_FRAME_BYTES, with_fit_names
from skein.models.run import PromptMark, Run
from skein.models.storage import Item, Key, SortKeyPrefix
from skein.models.tool_arguments import repeatable

MAX_PROMPT_BYTES = 300_000  # what one item can hold beside the answer (400 KB in all)
ELEMENT_BYTES, NUMBER_BYTES = 5, 24
MAX_RESULT_BYTES = 60_000  # of one step's results together
HISTORY = "CHAT HISTORY"
FIXED_ANSWER = "none"  # in the place of a model, where an answer was not a model's

ToolStatus = Literal["done", "correctable", "failed"]

STEP = "#STEP#"  # between the sort key of a run and the number of its step


class PromptSection(Value):
    """One section of a prompt as it was given: its name, its size and its words."""

    name: str
    tokens: int
    text: str


class HistoryTurn(Value):
    """One message of the chat, where the history stands as roles."""

    role: Literal["user", "assistant"]
    text: str


class PromptRecord(Value):
    """What a model was given.

    Attributes:
        sections: In order; where the history stands as `turns`, its section holds no text.
        total_tokens: Of all sections together, the blank lines between them included.
        stable: How many of the sections stand before the `turns`.
        turns: The history as roles; None where it is part of the sections.
        current: Position among the turns of the message that is to be answered; after them all,
            if there is none.
        nudge: The last message, where nobody else's stands there.
        marks: What an operator should know of how it came about, e.g. that something was left out.
    """

    sections: tuple[PromptSection, ...]
    total_tokens: int
    stable: int = 0
    turns: tuple[HistoryTurn, ...] | None = None
    current: int = 0
    nudge: str = ""
    marks: tuple[PromptMark, ...] = ()

    def messages(self) -> tuple[ModelMessage, ...]:
        """The prompt as a chat completion.

        A timeline is one system message. As roles, own messages are the assistant's and all
        others the user's; the sections that change from turn to turn stand in a second system
        message just before the current one, so that what precedes can be served from a cache.
        """
        if self.turns is None:
            everything = _joined(self.sections)
            return (
                ModelMessage(role="system", content=everything),
                ModelMessage(role="user", content=self.nudge),
            )
        spoken = [ModelMessage(role=turn.role, content=turn.text) for turn in self.turns]
        changing = _joined(self.sections[self.stable :])
        if changing:
            spoken.insert(self.current, ModelMessage(role="system", content=changing))
        if self.nudge:
            spoken.append(ModelMessage(role="user", content=self.nudge))
        return (ModelMessage(role="system", content=_joined(self.sections[: self.stable])), *spoken)

    def readable(self) -> "PromptRecord":
        """The record for people: each section with its text, the history's turns included.

        A turn takes a line of its own; further lines of what was said are indented, so that nobody
        can write what looks like another turn.
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
        """The record, compressed for the table; beyond `most_bytes` the longest texts are cut."""
        record = self
        while len(data := zlib.compress(record.model_dump_json().encode())) > most_bytes:
            record = record._with_longest_cut()
        return data

    def _with_longest_cut(self) -> "PromptRecord":
        turns = self.turns or ()
        texts = [*(part.text for part in self.sections), *(turn.text for turn in turns)]
        longest = max(texts, key=len)
        cut = {"text": f"{longest[: len(longest) // 2]} [cut for storage]"}
        sections = (s.model_copy(update=cut) if s.text == longest else s for s in self.sections)
        shorter = (t.model_copy(update=cut) if t.text == longest else t for t in turns)
        kept = {"sections": tuple(sections), "turns": self.turns and tuple(shorter)}
        return self.model_copy(update=kept)

    @classmethod
    def unpacked(cls, data: bytes) -> "PromptRecord":
        """The record that `packed` made."""
        return cls.model_validate_json(zlib.decompress(data))


def _size_of(value: object) -> int:
    """How many bytes a value takes in an item, at most."""
    if isinstance(value, dict):
        return sum(ELEMENT_BYTES + _size_of(name) + _size_of(part) for name, part in value.items())
    if isinstance(value, list):
        return sum(ELEMENT_BYTES + _size_of(part) for part in value)
    return len(value.encode()) if isinstance(value, str) else NUMBER_BYTES


def _joined(sections: tuple[PromptSection, ...]) -> str:
    return "\n\n".join(section.text for section in sections if section.text)


class ToolResult(Value):
    """What a tool gave back; `content` is what the model was shown."""

    call_id: str
    name: str
    status: ToolStatus
    content: str


class Step(Stored):
    """One answer of the model, recorded before anything that it asks for is carried out.

    Attributes:
        n: 1 for the first step of the run, counted over all activations.
        activation: 1 for the first activation; each begins with a prompt of its own.
        model: Which one answered; `FIXED_ANSWER` where none was asked.
        results: What its tools gave back; None until all of them have been carried out.
        prompt: Packed `PromptRecord`, in the first step of each activation only.
        expires_at: When it goes, in seconds since 1970, where its tenant keeps runs for a time.
    """

    tenant: Tenant
    run_id: Identifier
    n: int
    activation: int = 1
    model: str
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] | None = None
    usage: TokenUsage
    prompt: bytes | None = None
    expires_at: int | None = None
    started_at: Instant
    ended_at: Instant

    @staticmethod
    def key_of(tenant: str, run_id: str, n: int) -> Key:
        """The key of a run's step number `n`."""
        run = Run.key_of(tenant, run_id)
        return Key(run.pk, f"{Step.prefix_of(run)}{n:03d}")

    @staticmethod
    def prefix_of(run: Key) -> SortKeyPrefix:
        """The prefix of the steps of the run with this key, in whose partition they lie."""
        return SortKeyPrefix(f"{run.sk}{STEP}")

    @staticmethod
    def is_stored_as(item: Item) -> bool:
        """Whether an item that begins like a run is one of its steps."""
        return STEP in str(item["sk"])

    @property
    def key(self) -> Key:
        """This step's key."""
        return self.key_of(self.tenant, self.run_id, self.n)

    def to_item(self) -> Item:
        """The step as table attributes."""
        item = self.model_dump(mode="json", exclude_none=True, exclude={"prompt"})
        return item if self.prompt is None else item | {"prompt": self.prompt}

    @property
    def prompt_room(self) -> int:
        """How many bytes of prompt the step's item can hold beside the answer and its results."""
        answer = _size_of(self.model_copy(update={"prompt": None}).to_item())
        results = len(self.tool_calls) * RESULT_FRAME_BYTES
        results += MAX_RESULT_BYTES if self.tool_calls else 0
        return min(MAX_PROMPT_BYTES, MAX_STEP_BYTES - answer - results)

    def messages(self) -> tuple[ModelMessage, ...]:
        """The answer and what its tools gave back, as the next question repeats them.

        Providers refuse arguments that are no JSON object, and ids and names of other forms than
        their own. Such calls are repeated in a form that is taken.
        """
        calls = tuple(
            call.model_copy(update={"arguments": repeatable(call.arguments), "cut_from": None})
            for call in with_fit_names(self.tool_calls, n=self.n)
        )
        answer = ModelMessage(role="assistant", content=self.text, tool_calls=calls)
        results = zip(calls, self.results or (), strict=False)  # none, before they are carried out
        return (
            answer,
            *(
                ModelMessage(role="tool", content=result.content, tool_call_id=call.id)
                for call, result in results
            ),
        )
