"""Which parts of a prompt are charged again, and which of them end the head that two share.

`python -m bench.prompts.prefix_parts` prints the parts, and the cost of a turn with a provider that
charges less for cached tokens. `new` are tokens that the prompt before did not have. `again` are
tokens that it had, behind a change. With arguments such as `direct:10-20 group:25-50`, the command
prints the cost of other windows: the messages that stay after a move, and the most that they hold.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, get_args
from unittest.mock import patch

from bench.prompts.prefix import CONVERSATIONS, QuestionOutcome, common, conversation, served
from bench.report import printed
from bench.turns.script import SYSTEM_PROMPT
from bench.turns.skein_chat import Kind
from skein.adapters.tokens import Tokens
from skein.models.runs.step import HISTORY, PromptSection
from skein.ports import ModelTokens, TokenCounter
from skein.services.chat_state import history_window as windows
from skein.settings import Settings

DISCOUNTS = (0.5, 0.75, 0.9)  # of gpt-4o, gpt-4.1 and gpt-5, as their prices were in 2026
TOOLS = "tools"


class Line(NamedTuple):
    """A line of a prompt, and the section or message that it belongs to."""

    part: str
    text: str


@dataclass
class Parts:
    """The tokens of one conversation's prompts, by part.

    Attributes:
        turns: The number of prompts that follow another one.
        held: All tokens.
        new: The tokens that the prompt before did not have.
        again: The tokens that it had, behind the end of the common head.
        ends: The number of turns in which the common head ended in the part.
        openai: The tokens that OpenAI's rule serves.
    """

    turns: int = 0
    held: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    openai: int = 0

    @property
    def charged(self) -> int:
        """The tokens that no cache serves."""
        return self.new.total() + self.again.total()

    def cost(self, discount: float, *, openai: bool = False) -> float:
        """Return the cost of a turn in tokens; the cache serves its tokens at a discount."""
        whole = self.held.total()
        cached = self.openai if openai else whole - self.charged
        return (whole - discount * cached) / self.turns


def parts(asked: Iterable[QuestionOutcome], tokens: TokenCounter) -> Parts:
    """Compare consecutive prompts, and add up their tokens by part."""
    found = Parts()
    for earlier, later in pairwise(list(lines(one)) for one in asked):
        found.turns += 1
        _compare(earlier, later, tokens, found)
    return found


def _compare(earlier: list[Line], later: list[Line], tokens: TokenCounter, found: Parts) -> None:
    same = sum(1 for _ in _alike(earlier, later))
    head = sum(tokens.count(line.text) for line in later[:same])
    known = set(earlier)
    for position, line in enumerate(later):
        size = tokens.count(line.text)
        found.held[line.part] += size
        if position == same and position < len(earlier):
            begun = tokens.count(common(earlier[position].text, line.text))
            head += begun
            size -= begun
            found.ends[line.part] += 1
        if position >= same:
            (found.again if line in known else found.new)[line.part] += size
    found.openai += served(head)


def _alike(earlier: list[Line], later: list[Line]) -> Iterator[Line]:
    for one, other in zip(earlier, later, strict=False):
        if one != other:
            return
        yield other


def lines(asked: QuestionOutcome) -> Iterator[Line]:
    """Yield the lines of a request in the order in which its provider reads them."""
    prompt = asked.prompt
    yield Line(TOOLS, json.dumps([tool.model_dump() for tool in asked.request.tools]))
    if prompt.turns is None:
        yield from _of_sections(prompt.sections)
    else:
        yield from _of_sections(prompt.sections[: prompt.stable])
        spoken = [Line(HISTORY, f"{turn.role}\n{turn.text}\n") for turn in prompt.turns]
        yield from spoken[: prompt.current]
        yield from _of_sections(prompt.sections[prompt.stable :])
        yield from spoken[prompt.current :]
    if prompt.nudge:
        yield Line("nudge", f"user\n{prompt.nudge}\n")


def _of_sections(sections: Iterable[PromptSection]) -> Iterator[Line]:
    for section in sections:
        if section.text:
            yield from (Line(section.name, f"{line}\n") for line in section.text.split("\n"))
            yield Line(section.name, "\n")


def cells(found: Parts) -> list[list[str]]:
    """Return the table: tokens per turn by part, in the order of their first appearance."""
    counts = (found.held, found.new, found.again)
    rows = [
        [part, *(f"{one[part] / found.turns:,.1f}" for one in counts), str(found.ends[part])]
        for part in found.held
    ]
    sums = [f"{one.total() / found.turns:,.1f}" for one in counts]
    heads = ["tokens a turn", "in all", "new", "again", "heads that end there"]
    return [heads, *rows, ["all", *sums, str(found.ends.total())]]


def told(found: Parts) -> str:
    """Return the sums in words, with those by OpenAI's rule in brackets."""
    whole = found.held.total()
    costs = ", ".join(
        f"{found.cost(discount):,.0f} ({found.cost(discount, openai=True):,.0f}) with "
        f"{discount:.0%} off"
        for discount in DISCOUNTS
    )
    return (
        f"{whole / found.turns:,.0f} tokens a turn, of which the cache serves "
        f"{1 - found.charged / whole:.1%} ({found.openai / whole:.1%}) and "
        f"{found.charged / found.turns:,.0f} are charged in full; that costs {costs}"
    )


def window(asked_for: str, tokens: ModelTokens) -> Parts:
    """Measure a window such as `direct:10-20`, with a short system prompt.

    Raises:
        ValueError: The text has no known kind of chat, or not two numbers.
    """
    kind, _, span = asked_for.partition(":")
    staying, most = map(int, span.split("-"))
    named: dict[str, Kind] = {name: name for name in get_args(Kind)}
    if kind not in named:
        raise ValueError(f"{asked_for} should begin with {' or '.join(named)}")
    settings = Settings(history_window=most, direct_history_window=most)
    with patch.object(windows, "block_of", lambda held: held - staying):
        asked = conversation(named[kind], SYSTEM_PROMPT, tokens, settings=settings)
    return parts(asked, tokens)


def main(asked_for: list[str]) -> None:
    """Print the parts of each conversation, or those of the given windows."""
    tokens = Tokens()
    for one in asked_for:
        print(f"{one}: {told(window(one, tokens))}", flush=True)
    for name, kind, prompt, tools in CONVERSATIONS if not asked_for else ():
        found = parts(conversation(kind, prompt, tokens, tools=tools), tokens)
        print(f"\n{name}: {told(found)}\n\n{printed(cells(found))}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
