"""Ask an agent's model which memories to make from a chunk of messages."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from skein.interface.names import Names
from skein.interface.sources import SourceNames, named_in
from skein.memory.models.memory import Memory, MemoryKind
from skein.memory.profile_extraction import AskedProfile, ProfileDraft
from skein.memory.shown import dated_line
from skein.memory.transcript import AgentChunk
from skein.memory.writes import MemoryDraft, normalised
from skein.models.quotas.usage import Words
from skein.models.runs.completion import ModelAnswer, ModelMessage, well_formed
from skein.models.visibility.provenance import NO_AUTHORS, Authors
from skein.planning.models.plan import Plan
from skein.prompts import render
from skein.services.background.engine import Question, TooMuch, UnusableAnswer
from skein.services.common.model_json import json_object_in
from skein.services.common.quoting import quoted

ANSWER_TOKENS = 8_000  # output tokens of an answer

MODEL_SECONDS = 240  # includes the SDK's own retry
MAX_ENTRIES = 40
MAX_MEMORY = 10_000  # characters
MAX_REMOVED = 10  # memories that one answer may remove; further ones are kept
NOTHING_YET = "Nothing yet."
CLOSE = "Compare the conversation with these first, because they are about similar things:"

_ENTRY: dict[str, object] = {"type": "string"}
_CORRECTED: dict[str, object] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "replaces": {"type": "integer"}},
    "required": ["text", "replaces"],
    "additionalProperties": False,
}
_ENTRIES: dict[str, object] = {"type": "array", "items": {"anyOf": [_ENTRY, _CORRECTED]}}
ANSWERED: dict[str, object] = {
    "journal": _ENTRIES,
    "core": _ENTRIES,
    "remove": {"type": "array", "items": {"type": "integer"}},
}
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": ANSWERED,
    "required": [*ANSWERED],
    "additionalProperties": False,
}


class Extraction(NamedTuple):
    """The memories and profile values to store, from one answer of the model.

    Attributes:
        entries: The memories.
        authors: The people whose words are in the known memories of the question, by digest.
        profile: The profile values; empty unless the question asked for them.
        known: The memories in the question, by id.
        removed: The ids of memories to remove.
    """

    entries: list[MemoryDraft]
    authors: Authors
    profile: tuple[ProfileDraft, ...] = ()
    known: Mapping[str, Memory] = MappingProxyType({})
    removed: tuple[str, ...] = ()

    def entries_for(self, live: Sequence[Memory]) -> list[MemoryDraft]:
        """Return the entries for one of the agents that share the question.

        The question shows the memories of all these agents, so an entry may replace another agent's
        memory. In the result, it replaces this agent's memory with the same words, or nothing if
        there is no such memory.

        Args:
            live: The agent's memories.
        """
        own = self._own(live)
        return [
            entry._replace(replaces=own(entry.replaces) if entry.replaces else None)
            for entry in self.entries
        ]

    def removed_for(self, live: Sequence[Memory]) -> list[str]:
        """Return the ids of the agent's memories to remove; see `entries_for`."""
        return [found for each in self.removed if (found := self._own(live)(each)) is not None]

    def _own(self, live: Sequence[Memory]) -> Callable[[str], str | None]:
        """Return a function that maps a memory id of the request to the stored memory's id."""
        own = {(memory.kind, normalised(memory.text)): memory.id for memory in live}
        ids = {memory.id for memory in live}

        def find(each: str) -> str | None:
            shown = self.known.get(each)
            if each in ids or shown is None:
                return each if each in ids else None
            return own.get((shown.kind, normalised(shown.text)))

        return find


class KnownMemories(NamedTuple):
    """The memories that a question shows, numbered from 1, with core memories first.

    Attributes:
        numbered: The memories, with the oldest of each kind first.
        close: The ids of memories that the messages may repeat or contradict.
    """

    numbered: tuple[Memory, ...]
    close: frozenset[str] = frozenset()

    @classmethod
    def of(cls, shown: Sequence[Memory], close: Sequence[Memory]) -> Self:
        """Combine the memories in `shown` and `close`, without duplicates."""
        known = {memory.id: memory for memory in (*shown, *close)}
        ordered = sorted(known.values(), key=lambda memory: (memory.kind, *memory.age))
        return cls(tuple(ordered), frozenset(memory.id for memory in close))

    def texts(self, names: Names) -> dict[str, str]:
        """Return the prompt's variables: memories by kind, and the numbers of those in `close`."""
        sources = SourceNames(names.joined(named_in(self.numbered)).__getitem__)
        lines: dict[MemoryKind, list[str]] = {"core": [], "journal": []}
        for number, memory in enumerate(self.numbered, 1):
            lines[memory.kind].append(f"{number}. {dated_line(memory, sources)}")
        close = [str(n) for n, memory in enumerate(self.numbered, 1) if memory.id in self.close]
        return {
            "memories": "\n".join(lines["core"]) or NOTHING_YET,
            "journal": "\n".join(lines["journal"]) or NOTHING_YET,
            "close": f"\n\n{CLOSE} {', '.join(close)}." if close else "",
        }


def schema_with(profile: AskedProfile | None) -> dict[str, object]:
    """Return the JSON schema of the answer, including `profile` if values are asked for."""
    if profile is None:
        return SCHEMA
    required = [*ANSWERED, "profile"]
    return SCHEMA | {"properties": ANSWERED | {"profile": profile.schema}, "required": required}


def question(
    batch: AgentChunk,
    known: KnownMemories,
    plans: Sequence[Plan] = (),
    *,
    default_model: str,
) -> Question[Extraction]:
    """Build the question to an agent's model about one chunk of a chat.

    The question's parser raises `TooMuch` if the answer has more than 40 entries or was cut off at
    the token limit.

    Args:
        batch: The chunk.
        known: Memories of the agent that may be shown to the chunk's audience.
        plans: Active plans that were set in the chat and may be shown to the chunk's audience.
        default_model: The model to ask if the agent has no model of its own.
    """
    target, chunk = batch.target, batch.chunk
    agent, chat, profile = target.agent, target.chat, target.profile(chunk)
    about_known = render("consolidation_nothing_known")
    if known.numbered:
        about_known = render("consolidation_known", known.texts(target.names(chunk)))
    variables = {"identity": _identity(batch), "part": _part_of(batch), "known": about_known}
    system = render("consolidation", variables)
    if plans:
        system += f"\n\n{render('consolidation_plans', {'plans': _lines_of(plans)})}"
    if profile is not None:
        system = f"{system}\n\n{profile.request}"
    variables = {
        "title": quoted(chat.display_title),
        "speakers": target.speakers(chunk),
        "messages": target.transcript(chunk),
    }
    asked = render("consolidation_input", variables)

    def parse(answer: ModelAnswer) -> Extraction:
        found = json_object_in(answer.text, {"journal", "core"})
        entries = entries_in(found, known.numbered)
        if entries is None:
            written = answer.usage.output_tokens - answer.usage.reasoning_tokens
            if answer.fault == "cut_off" or written >= ANSWER_TOKENS:
                raise TooMuch("the answer was cut off")
            raise UnusableAnswer("the answer could not be parsed")
        if len(entries) > MAX_ENTRIES:
            raise TooMuch(f"the answer has {len(entries)} entries")
        drafts = profile.drafts_in((found or {}).get("profile")) if profile is not None else ()
        authors = NO_AUTHORS.joined(*(item.authors for item in (*known.numbered, *plans)))
        shown = {memory.id: memory for memory in known.numbered}
        removed = removed_in(found, known.numbered)
        return Extraction(entries, authors, tuple(drafts), shown, removed)

    return Question(
        model=agent.model or default_model,
        messages=(
            ModelMessage(role="system", content=system),
            ModelMessage(role="user", content=asked),
        ),
        schema=schema_with(profile),
        agent_id=agent.id if not batch.others else None,
        words=Words.of((each.message.payer, each.end - each.start) for each in chunk.pieces),
        spread_by=chat.id,
        parse=parse,
    )


def _lines_of(plans: Sequence[Plan]) -> str:
    return "\n".join(f"- {quoted(plan.name)}: {quoted(plan.instruction)}" for plan in plans)


def _part_of(batch: AgentChunk) -> str:
    """Return how the agents took part in the conversation, in words: "took part in" or "read"."""
    agents = {each.target.agent.id for each in batch.each}
    spoke = any(piece.message.sender.id in agents for piece in batch.chunk.pieces)
    return "took part in" if spoke else "read"


def _identity(batch: AgentChunk) -> str:
    """Return the text that tells the model for which agents it makes the memories."""
    if not batch.others:
        return batch.target.agent.identity
    known = batch.target.names()
    names = [known[each.target.agent.as_member] for each in batch.each]
    return render("consolidation_shared_identity", {"names": ", ".join(names)})


def entries_in(
    found: Mapping[str, Any] | None, shown: Sequence[Memory]
) -> list[MemoryDraft] | None:
    """Parse the entries of an answer.

    Entries without a letter or digit are dropped. Long entries are cut to 10,000 characters.

    Args:
        found: The answer's JSON object; None if the answer has none.
        shown: The memories that the answer may name by number, from 1.

    Returns:
        The entries, which may be empty; None if the answer cannot be parsed.
    """
    if found is None:
        return None
    entries: list[MemoryDraft] = []
    kinds: tuple[MemoryKind, ...] = ("journal", "core")
    for kind in kinds:
        given = found.get(kind) or []
        if not isinstance(given, list):
            return None
        for value in given:
            text, number = _parts(value)
            if text is None:
                return None
            text = well_formed(text).strip()[:MAX_MEMORY].strip()
            if any(character.isalnum() for character in text):
                old = _numbered(shown, number)
                # A journal entry fades, so it must not supersede a core memory.
                replaces = old is not None and kind in {"core", old.kind}
                entries.append(MemoryDraft(kind, text, old.id if old and replaces else None))
    return entries


def removed_in(found: Mapping[str, Any] | None, shown: Sequence[Memory]) -> tuple[str, ...]:
    """Return the ids of the memories that are to be removed according to an answer, at most ten.

    Unknown numbers are ignored.
    """
    given = (found or {}).get("remove")
    numbers = given if isinstance(given, list) else []
    named = (_numbered(shown, number) for number in numbers)
    return tuple(dict.fromkeys(each.id for each in named if each is not None))[:MAX_REMOVED]


def _parts(value: Any) -> tuple[str | None, object]:
    """Split an entry into its text and the number of the memory that it replaces.

    A number in place of the text becomes a text, and null becomes an empty text. If the entry is
    invalid, the returned text is None.
    """
    if isinstance(value, dict):
        text = value.get("text")
        return (text if isinstance(text, str) else None), value.get("replaces")
    if value is None or isinstance(value, int | float):
        value = "" if value is None else str(value)
    return (value if isinstance(value, str) else None), None


def _numbered(shown: Sequence[Memory], number: object) -> Memory | None:
    """Return the memory shown under `number`; None if no memory has this number."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(shown):
        return None
    return shown[number - 1]
