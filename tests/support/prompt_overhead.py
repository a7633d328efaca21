"""How many tokens of a prompt are neither people's words nor the operator's.

The words of people and operators are the system prompt, messages, profile values, the texts of
memories, goals, plans, threads and documents, and summaries. Each is left out once, in the form in
which the prompt shows it. What is counted is everything else: titles, names, ids, times, labels,
instructions, built-in skills, tools, and each repetition of a word. The counts are those of the
tokenizer of the default model. Tools are counted as the JSON that a request carries. Of RECALLED,
only the headings count.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skein.adapters.openai.model import tools_on_wire
from skein.interface.section import SEPARATOR
from skein.models.runs.completion import ModelRequest
from skein.ports import TokenCounter
from tests.support.prompt_situations import Situation

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


OVERHEAD_LIMITS = {
    "SMS after a day": Overhead(254, 692),
    "busy group of three agents": Overhead(757, 1_070),
    "agent with threads": Overhead(523, 1_859),
    "plan in a direct chat": Overhead(230, 291),
}
"""A little above the counts as they are. The tests and the bench fail if a prompt grows."""
DEFAULT_TOOLS_LIMIT = 900  # tokens of all tools that an agent has by default, with cancel_plan


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
