"""Whether prompts parse by the grammar of their sections (`tests/support/timeline_parser.py`)."""

from collections.abc import Callable, Iterator, Mapping

from skein.models.runs.completion import ModelRequest
from tests.support import timeline_parser as grammar

PARSERS: Mapping[str, Callable[[str], object]] = {
    "PARTICIPANTS:": grammar.legend,
    "CHAT HISTORY (": grammar.timeline,
    "TRIGGER:": grammar.trigger,
    "CONVERSATION SUMMARY (earlier messages):": grammar.summary,
    "YOUR CHATS:": lambda section: grammar.rows(section, "YOUR CHATS:", grammar.CHAT),
    "PLANS:": lambda section: grammar.rows(section, "PLANS:", grammar.PLAN),
    "GOALS:": lambda section: grammar.rows(section, "GOALS:", grammar.GOAL),
}
"""By the beginning of a section."""


def faults_in(request: ModelRequest) -> Iterator[str]:
    """The sections of a prompt that do not parse, each with the line that does not."""
    for message in request.messages:
        for section in message.content.split("\n\n") if message.role == "system" else ():
            for head, parse in PARSERS.items():
                if section.startswith(head):
                    yield from _fault(section, parse)


def _fault(section: str, parse: Callable[[str], object]) -> Iterator[str]:
    try:
        parse(section)
    except AssertionError as wrong:
        yield f"{section.splitlines()[0]} {wrong}"
