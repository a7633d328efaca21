"""What is expected of an agent in a case, and how a play of the case is compared with it."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from skein.models.common.base import EntityId, Value
from skein.models.common.free_fields import Fields
from skein.models.common.json_types import NUMBER, JsonTrue
from skein.models.runs.step import ToolStatus

MAX_ARGUMENTS = 2_000  # characters
_NUMBER = re.compile(r"(?:[0-9]{1,3}(?:,[0-9]{3}(?![0-9]))+|[0-9]+)(?:\.[0-9]+)?")


def plain(text: str) -> str:
    """Normalize a text for comparisons: fold case and full-width characters, and remove spaces.

    Each number gets a space before and after it, so that 15 is not found in 150. `1,000` and
    `1000.0` become equal.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    parts, end = [], 0
    for found in _NUMBER.finditer(folded):
        parts += ["".join(folded[end : found.start()].split()), f" {_number(found[0])} "]
        end = found.end()
    return "".join([*parts, "".join(folded[end:].split())])


def _number(digits: str) -> str:
    whole, _, fraction = digits.replace(",", "").partition(".")
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def covers(part: Any, whole: Any) -> bool:
    """Return whether a JSON value contains everything that `part` names.

    Numbers are compared by value, and texts with `plain`. Each element of a list in `part` must
    match an element of the list in `whole`, in the same order; `whole` may have further elements.
    """
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            name in whole and covers(value, whole[name]) for name, value in part.items()
        )
    if isinstance(part, list | tuple):
        left = iter(whole if isinstance(whole, list | tuple) else ())
        return isinstance(whole, list | tuple) and all(
            any(covers(each, other) for other in left) for each in part
        )
    if isinstance(part, str):
        return isinstance(whole, str) and plain(part) == plain(whole)
    same_kind = isinstance(part, bool) == isinstance(whole, bool)
    return same_kind and bool(part == whole)


def _comparable(text: str) -> str:
    if not plain(text):
        raise ValueError("a text needs a character that is not a space")
    return text


Phrase = Annotated[str, Field(max_length=500), AfterValidator(_comparable)]
Phrases = Annotated[tuple[Phrase, ...], Field(min_length=1, max_length=20)]
ToolText = Annotated[str, Field(min_length=1, max_length=64, description="The name of a tool.")]
Part = Annotated[
    Fields, Field(description="Those arguments that are compared; an object in part, too.")
]
Most = Annotated[int, Field(ge=0, le=10_000_000), NUMBER]


class PartOfCall(Value):
    """A tool, and those arguments of a call that are compared."""

    tool: ToolText
    arguments: Annotated[Part, Field(default_factory=dict)]

    def fits(self, tool: str, arguments: Any) -> bool:
        """Return whether a call is one of this tool with these arguments."""
        return self.tool == tool and covers(self.arguments, arguments)

    def __str__(self) -> str:
        return f"{self.tool}({json.dumps(self.arguments, ensure_ascii=False)})"


class AtMost(Value):
    """How much a play may use at most. A limit that is null doesn't apply."""

    tokens: Annotated[Most | None, Field(description="Tokens of prompts and answers.")] = None
    steps: Annotated[Most | None, Field(description="Answers of the model.")] = None
    sms_units: Annotated[Most | None, Field(description="Segments of SMS.")] = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if not self.attributes():
            raise ValueError("give tokens, steps or sms_units")
        return self

    def attributes(self) -> dict[str, int]:
        """Return the limits that apply, by name."""
        return self.model_dump(exclude_none=True)


class PlayedCall(NamedTuple):
    """A tool call of a play, with its result or error as the model has read it."""

    tool: str
    arguments: Any
    result: str | None = None

    def fits(self, tool: str, arguments: Any) -> bool:
        """Return whether another call is equal, with the arguments in any order."""
        mine, others = (json.dumps(each, sort_keys=True) for each in (self.arguments, arguments))
        return tool == self.tool and mine == others

    @property
    def answer(self) -> tuple[ToolStatus, str]:
        """What an equal call gets: whether the tool was called, and the result."""
        return "done", self.result or ""

    def __str__(self) -> str:
        """Return the call, with arguments cut to the length that is shown to operators."""
        return f"{self.tool}({json.dumps(self.arguments, ensure_ascii=False)[:MAX_ARGUMENTS]})"


class PlayedQuestion(NamedTuple):
    """A question that the agent asked in a play, with the answers to choose from."""

    text: str
    answers: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " / ".join((self.text, *self.answers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What an agent said and did in one play of a case.

    Attributes:
        texts: The texts that the agent posted, in order.
        calls: The agent's tool calls, in order.
        questions: The questions with fixed answers that the agent asked people.
        asked_person: Whether the agent asked for a team member, or for a person's approval of a
            call.
        cited: The ids of the sources that the agent cited.
        unrecorded: The call at which the play ended, because no recorded result fits it; otherwise
            None.
        judged: For each sentence that a model judged, the reason why it is not true; None if it is
            true.
    """

    texts: tuple[str, ...] = ()
    calls: tuple[PlayedCall, ...] = ()
    questions: tuple[PlayedQuestion, ...] = ()
    asked_person: bool = False
    cited: tuple[str, ...] = ()
    tokens: int = 0
    steps: int = 0
    sms_units: int = 0
    unrecorded: PlayedCall | None = None
    judged: Mapping[str, str | None] = field(default_factory=dict)


def _first(phrases: Iterable[str], texts: Iterable[str]) -> str | None:
    """Return the first of the phrases that one of the texts contains; None if none does."""
    found = [plain(text) for text in texts]
    return next((each for each in phrases if any(plain(each) in text for text in found)), None)


class Expectation(Value):
    """One thing that must hold for a play of a case. Exactly one field must be given.

    When texts are compared, case, full-width characters and spaces don't matter, and a number
    matches only a whole number: 15 is not found in 150.
    """

    says: Annotated[Phrases | None, Field(description="One of these is in a text.")] = None
    says_not: Annotated[Phrases | None, Field(description="None of these is in a text.")] = None
    calls: Annotated[PartOfCall | None, Field(description="A call that is made.")] = None
    calls_not: Annotated[PartOfCall | None, Field(description="A call that is not made.")] = None
    silent: Annotated[JsonTrue | None, Field(description="The agent posts nothing.")] = None
    asks_a_person: Annotated[
        JsonTrue | None, Field(description="The agent asks for a person of the team, or for a yes.")
    ] = None
    asks: Annotated[
        Phrases | None, Field(description="One of these is in a question or in its answers.")
    ] = None
    cites: Annotated[EntityId | None, Field(description="The id of a source.")] = None
    at_most: Annotated[AtMost | None, Field(description="What the play may use.")] = None
    judge: Annotated[
        Phrase | None, Field(description="A sentence that a model judges; never decides alone.")
    ] = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError(f"give exactly one of {', '.join(type(self).model_fields)}")
        return self

    def missing(self, played: Played) -> str | None:
        """Return in words how a play misses the expectation; None if the play meets it."""
        [(kind, wanted)] = [(name, value) for name, value in self if value is not None]
        missing: str | None = getattr(self, f"_{kind}")(wanted, played)
        return missing

    def _says(self, phrases: Phrases, played: Played) -> str | None:
        return None if _first(phrases, played.texts) else f"says none of: {_listed(phrases)}"

    def _says_not(self, phrases: Phrases, played: Played) -> str | None:
        said = _first(phrases, played.texts)
        return None if said is None else f"says: {said}"

    def _calls(self, _: PartOfCall, played: Played) -> str | None:
        return missing_of((self,), played)[0]

    def _calls_not(self, part: PartOfCall, played: Played) -> str | None:
        made = any(part.fits(each.tool, each.arguments) for each in played.calls)
        return f"calls {part}" if made else None

    def _silent(self, _: JsonTrue, played: Played) -> str | None:
        return f"says: {played.texts[0]}" if played.texts else None

    def _asks_a_person(self, _: JsonTrue, played: Played) -> str | None:
        return None if played.asked_person else "does not ask a person"

    def _asks(self, phrases: Phrases, played: Played) -> str | None:
        asked = (text for each in played.questions for text in (each.text, *each.answers))
        return None if _first(phrases, asked) else f"asks none of: {_listed(phrases)}"

    def _cites(self, source_id: str, played: Played) -> str | None:
        return None if source_id in played.cited else f"does not cite {source_id}"

    def _at_most(self, limits: AtMost, played: Played) -> str | None:
        over = [
            f"{used} {name} instead of {most}"
            for name, most in limits.attributes().items()
            if (used := getattr(played, name)) > most
        ]
        return f"uses {', '.join(over)}" if over else None

    def _judge(self, sentence: str, played: Played) -> str | None:
        return played.judged.get(sentence, "was not judged")


def missing_of(expect: Sequence[Expectation], played: Played) -> list[str | None]:
    """Return for each expectation how the play misses it; None if the play meets it.

    No call of the play counts for two expected calls.
    """
    taken: dict[int, int] = {}  # the expectation that each call meets

    def takes(n: int, tried: set[int]) -> bool:
        """Find a call of the play for an expectation; return whether there is one.

        If another expectation has taken the call, it may have to take another call.
        """
        part = expect[n].calls
        for at, call in enumerate(played.calls):
            if part is None or at in tried or not part.fits(call.tool, call.arguments):
                continue
            tried.add(at)
            if at not in taken or takes(taken[at], tried):
                taken[at] = n
                return True
        return False

    def missing(n: int, each: Expectation) -> str | None:
        if each.calls is None:
            return each.missing(played)
        return None if takes(n, set()) else f"does not call {each.calls}"

    return [missing(n, each) for n, each in enumerate(expect)]


def _listed(phrases: Iterable[str]) -> str:
    return ", ".join(json.dumps(each, ensure_ascii=False) for each in phrases)
