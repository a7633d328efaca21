"""How many facts the prompts of an eval show twice, in two different sections.

A line repeats a line of another section if the other line contains all its words and numbers.
Filler words don't count, and at least two words must be left. The history counts as a section, as
roles and as a timeline.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bench.eval.recording import ANSWER, Exchange
from skein.models.common.prompt_sections import SECTIONS
from skein.models.runs.step import HISTORY
from skein.services.common.words import stems_of

TELLING = (
    "CORE MEMORIES",
    "JOURNAL",
    "CONVERSATION SUMMARY",
    HISTORY,
    "LAST CONVERSATION",
    "OTHER ACTIVE CONVERSATIONS",
    "BORROWED CONTEXT",
    "RECALLED",
    "PLANS",
)
LEAST = 2  # words of a line that can be a repeat
_HEADING = re.compile(rf"^(?:===== (\w+)$|({'|'.join(SECTIONS)})(?: \(.*\))?:)")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_SENDER = re.compile(r"^\[[^]]*\] ")


class Told(NamedTuple):
    """A line of a section, with the stems of its words."""

    section: str
    stems: frozenset[str]


def repeated_facts(prompt: str) -> int:
    """Count the lines that repeat an earlier line of another section, or that it repeats."""
    lines = [told for told in _told(prompt) if len(told.stems) >= LEAST]
    return sum(
        any(one.section != other.section and _repeats(one, other) for other in lines[:position])
        for position, one in enumerate(lines)
    )


def repeats_of(exchanges: Iterable[Exchange]) -> list[int]:
    """Return the number of repeated facts in each prompt of a run."""
    return [repeated_facts(each.prompt) for each in exchanges if each.kind == ANSWER]


def _repeats(one: Told, other: Told) -> bool:
    return one.stems <= other.stems or other.stems <= one.stems


def _told(prompt: str) -> Iterator[Told]:
    """Yield the lines of the sections that tell facts. The first message has no history section."""
    lines = prompt.splitlines()
    starts = [(at, found) for at, line in enumerate(lines) if (found := _HEADING.match(line))]
    ends = [*(at for at, _ in starts[1:]), len(lines)]
    for (start, found), end in zip(starts, ends, strict=True):
        role, name = found.groups()
        section = HISTORY if role in {"user", "assistant"} else name
        if section in TELLING:
            told = map(_words, lines[start + 1 : end])
            yield from (Told(section, frozenset(stems_of(each))) for each in told if _tells(each))


def _tells(words: str) -> bool:
    return not words.endswith("?")


def _words(line: str) -> str:
    """Return the words of a line that tell a fact: quoted words, or all words after the sender."""
    quoted = _QUOTED.findall(line)
    return " ".join(each.strip('"') for each in quoted) if quoted else _SENDER.sub("", line)
