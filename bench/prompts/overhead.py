"""How many tokens of a prompt are neither people's words nor the operator's.

`make bench ONLY=prompts` counts them in four situations, without and with the schemas of tools, and
compares them to those of commit ff91d65, which were counted in the same way. Each must be at most
half of its count then. `python -m bench.prompts.overhead "SMS after a day"` prints a whole request.

The words of people and operators are the system prompt, messages, profile values, the texts of
memories, goals, plans, threads and documents, and summaries. Each is left out once, in the form in
which the prompt shows it. What is counted is everything else: titles, names, ids, times, labels,
instructions, built-in skills, tools, and each repetition of a word. The counts are those of the
tokenizer of the default model. Tools are counted as the JSON that a request carries.

The messages in RECALLED are left out with their labels, since that commit showed no such messages.
The headings of the section count.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.prompts.situations import SITUATIONS, Situation
from skein.adapters.openai.model import tools_on_wire
from skein.adapters.tokens import Tokens
from skein.agent.prompt.section import SEPARATOR
from skein.models.runs.completion import ModelRequest
from skein.ports import TokenCounter

HEADS = (
    *("tokens that are not people's or the operator's words", "prompt then", "now"),
    *("with tools then", "now", "share", "goal: half"),
)
GOAL = 0.5
RECALLED_LINE = re.compile(r"\n  \[msg:\d+\] .*")


@dataclass(frozen=True)
class Overhead:
    """The tokens of a request that are not people's or the operator's words.

    Attributes:
        prompt: Those of the messages.
        tools: Those of the tools.
    """

    prompt: int
    tools: int

    @property
    def total(self) -> int:
        """Those of the whole request."""
        return self.prompt + self.tools


THEN = {
    "SMS after a day": Overhead(583, 770),
    "busy group of three agents": Overhead(1_763, 1_753),
    "agent with threads": Overhead(935, 3_703),
    "plan in a direct chat": Overhead(471, 1_181),
}
"""The counts of commit ff91d65; of two counts of its tools, the smaller one."""


def overhead(situation: Situation, tokens: TokenCounter) -> Overhead:
    """Count the tokens of a request without people's and operators' words."""
    texts = [without_recalled(message.content) for message in situation.request.messages]
    left = without(texts, situation.words)
    return Overhead(sum(map(tokens.count, left)), tools_of(situation.request, tokens))


def without_recalled(text: str) -> str:
    """Remove the messages of RECALLED from a text, and leave its headings."""
    sections = text.split(SEPARATOR)
    return SEPARATOR.join(
        RECALLED_LINE.sub("", section) if section.startswith("RECALLED") else section
        for section in sections
    )


def without(texts: Sequence[str], words: Iterable[str]) -> list[str]:
    """Remove each word once from the first text that holds it, quoted or plain."""
    left = list(texts)
    for word in sorted(words, key=len, reverse=True):
        quoted = json.dumps(word, ensure_ascii=False)[1:-1]
        for form in dict.fromkeys((quoted, word)):
            position = next((n for n, text in enumerate(left) if form in text), None)
            if position is not None:
                left[position] = left[position].replace(form, "", 1)
                break
    return left


def tools_of(request: ModelRequest, tokens: TokenCounter) -> int:
    """Count the tokens of a request's tools."""
    return tokens.count(json.dumps(tools_on_wire(request.tools))) if request.tools else 0


def measured() -> dict[str, Overhead]:
    """Count each situation's tokens."""
    tokens = Tokens()
    return {name: overhead(play(), tokens) for name, play in SITUATIONS.items()}


def met(name: str, now: Overhead) -> bool:
    """Return whether a situation takes at most half of its tokens then, without and with tools."""
    then = THEN[name]
    return now.prompt <= GOAL * then.prompt and now.total <= GOAL * then.total


def cells(found: Mapping[str, Overhead]) -> list[list[str]]:
    """Make the table, its head first."""
    rows = [
        [
            name,
            *(f"{count:,}" for count in (THEN[name].prompt, now.prompt)),
            *(f"{count:,}" for count in (THEN[name].total, now.total)),
            f"{now.total / THEN[name].total:.0%}",
            "pass" if met(name, now) else "FAIL",
        ]
        for name, now in found.items()
    ]
    return [list(HEADS), *rows]


def main(*shown: str) -> None:
    """Print the whole requests of the named situations, or of all."""
    for name in shown or SITUATIONS:
        request = SITUATIONS[name]().request
        print(f"===== {name}")
        for message in request.messages:
            print(f"--- {message.role}\n{message.content}")
        print(json.dumps(tools_on_wire(request.tools)))


if __name__ == "__main__":
    main(*sys.argv[1:])
