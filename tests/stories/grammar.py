"""Whether prompts parse by the grammar of their sections (`tests/support/timeline_parser.py`)."""

import re
from collections.abc import Callable, Iterator, Mapping

from skein.models.runs.completion import ModelRequest
from tests.support import timeline_parser as grammar
from tests.support.timeline_parser import (
    AGE,
    CALLED,
    CHAT,
    GOAL,
    HINT,
    ID,
    MEMORY,
    OTHER,
    PLAN,
    PROFILE,
    QUOTED,
    TIME,
)

UNTIL = r"\d{4}-\d\d-\d\d \d\d:\d\d [A-Z+\-0-9]+"
MORE = re.compile(r"  - and \d+ more(?: before that)?|  \(\d+ older left out\)")
ONLY_PERSON = re.compile(r"  Only the person can answer these, not you\. [\w ,.]+\.")
FIELDS = re.compile(r"  \(update_profile saves what [\w ]+\. Fields: [\w ,()]+\.\)")
QUESTION = re.compile(
    rf"  - msg:\d+ \(until {UNTIL}; answered (?:by the button or the number of an option"
    rf"|in words, as a reply to it)\): {QUOTED}"
)
ERRAND = re.compile(rf"  - (?:{QUOTED}|each person here) was asked {QUOTED}, open until {UNTIL}")
CALL = re.compile(
    rf"  - [\w.\-]+(?: {QUOTED})? at {TIME}: (?:done|outcome unknown"
    rf"|the service asks a person first)(?:, with the result {QUOTED})?"
)
WHOM = rf"(?:{CALLED}|\d+ more)"
RUN = re.compile(
    rf"  - (?:running|waiting for a reply(?: by {WHOM}(?: or {WHOM})*)?)"
    rf"(?: in {QUOTED})?(?: until {UNTIL})?(?: \(id: {ID}\))?(?:; it asked in msg:\d+: {QUOTED})?"
)
THREAD = re.compile(rf"  - {ID}(?: {QUOTED})?(?: \((?:[a-z]+: [^()]+)(?:, [a-z]+: .+)*\))?")
RECALLED = re.compile(
    rf"  -- \d{{4}}-\d\d-\d\d(?:, {QUOTED})? --|  \[msg:\d+\] (?:You|{CALLED}): {QUOTED}"
    rf"|  \d{{4}}-\d\d-\d\d, {CALLED}(?:, as noted)? \(may be told to: [\w ,\-]+\): {QUOTED}"
)
PASSAGE = re.compile(rf"  \[K\d+\] {QUOTED}(?:, {QUOTED})?, as of \d{{4}}-\d\d-\d\d|\|.*")
LINES: Mapping[str, re.Pattern[str]] = {
    "LAST CONVERSATION": re.compile(
        rf"LAST CONVERSATION \({AGE}, in {QUOTED}\):\n  {QUOTED}(?:\n  your summary: {QUOTED})*"
    ),
    "HANDED BACK": re.compile(
        rf"HANDED BACK: {CALLED} held this chat after msg:\d+ and (?:handed it back"
        rf"|was silent for long, so the chat came back) at {TIME}\."
        rf"(?: {CALLED} told you: {QUOTED})?"
    ),
    "TODAY": re.compile(r"TODAY: [A-Z][a-z]+day \d{4}-\d\d-\d\d"),
    "NOW": re.compile(
        r"NOW: \d\d:\d\d (?:UTC|in [\w/+\-]+ \((?:\d{4}-\d\d-\d\d )?\d\d:\d\d UTC\))"
    ),
}
"""Sections of one form, by their names."""


def _listed(*rows: re.Pattern[str]) -> Callable[[str], object]:
    """A parser of a section that lists items: each line but the first is of one of these forms."""

    def parse(section: str) -> None:
        for line in grammar.lines_of(section, ""):
            known = any(row.fullmatch(line) for row in (*rows, MORE))
            assert known, line

    return parse


def _whole(name: str) -> Callable[[str], object]:
    """A parser of a section of one form."""

    def parse(section: str) -> None:
        assert LINES[name].fullmatch(section), section

    return parse


PARSERS: Mapping[str, Callable[[str], object]] = {
    "PARTICIPANTS:": grammar.legend,
    "CHAT HISTORY (": grammar.timeline,
    "TRIGGER:": grammar.trigger,
    "CONVERSATION SUMMARY (earlier messages):": grammar.summary,
    "YOUR CHATS:": _listed(CHAT),
    "PLANS:": _listed(PLAN),
    "GOALS:": _listed(GOAL),
    "CORE MEMORIES:": _listed(MEMORY),
    "JOURNAL:": _listed(MEMORY),
    "USER PROFILE:": _listed(FIELDS, PROFILE),
    "OTHER ACTIVE CONVERSATIONS:": _listed(HINT, OTHER),
    "OPEN QUESTIONS:": _listed(ONLY_PERSON, QUESTION),
    "ERRANDS:": _listed(ERRAND),
    "DONE BEFORE:": _listed(CALL),
    "ACTIVE RUNS:": _listed(RUN),
    "PENDING THREADS:": _listed(HINT, THREAD),
    "RECALLED (": _listed(RECALLED),
    "KNOWLEDGE (": _listed(PASSAGE),
    "BORROWED CONTEXT:": grammar.borrowed,
    **{name: _whole(name) for name in LINES},
}
"""By the beginning of a section. The others are texts of operators and of agents, or fixed."""


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
