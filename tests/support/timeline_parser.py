"""The grammar of what an agent is shown: reads a prompt's sections back into what they say.

Skein itself never does that. Tests do, to hold the prompt to what is true: whoever could forge an
entry would make this parser read something else.
"""

import json
import re
import unicodedata
from typing import Any, NamedTuple

QUOTED = r'"(?:[^"\\]|\\.)*"'
NAME = rf"(?:{QUOTED}|[^\W_]+(?:[ '.\-][^\W_]+)*)"
ID = rf"(?:{QUOTED}|[A-Za-z0-9_.@|\-]+)"
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"

PLAIN = r'[^\s\[\](){}":;,|]+(?: [^\s\[\](){}":;,|]+)*'  # without the format's own marks
CALLED = rf"(?!You(?:: | \(|$)){PLAIN}(?: \((?:\d+|team|chosen, \w+)\))?(?: \(\d+\))?"
STATUS = (
    r"(?:open until \d{4}-\d\d-\d\d \d\d:\d\d [A-Z+\-0-9]+|expired"
    rf"|answered(?: {QUOTED})? in msg:\d+)"
)
DAY = re.compile(r"  -- \d{4}-\d\d-\d\d --")
PERSON = re.compile(
    rf"(?P<name>{CALLED}) \((?P<kind>human|agent)(?P<you>, you)?(?:, id (?P<id>{ID}))?"
    rf"(?:, named (?P<full>{QUOTED}))?(?:, formerly {CALLED}(?: and {CALLED})*)?(?P<left>, left)?\)"
)
CAPTION = (
    rf"\[(?:attached: {QUOTED}|(?:picture|file) \d+\.\d+(?:, [a-z ]+(?:: [a-z ]+)?)?"
    rf"(?:: (?:{QUOTED}(?:: {QUOTED})?|[\w.+/\-]+, [\d,]+ characters(?:; begins {QUOTED})?"
    rf"(?:; read_document {QUOTED} reads on)?))?)\]"
)
"""What stands for a picture or a file: what is known of it, and whether it is shown."""
KINDS = r"(?:\[(?:keyword|notice|erased)\] )?(?:\[(?:not delivered|delivered only in part)\] )?"
ENTRY = re.compile(
    r"  \[msg:(?P<seq>\d+) (?P<time>\d\d:\d\d)\] "
    rf"(?:(?P<you>You)|(?P<name>{CALLED}))(?P<by> \(by (?:You|{CALLED})\))?"
    r"(?: \((?:reply to msg:(?P<reply_to>\d+))?(?:, )?(?P<waited>waited for a reply)?"
    rf"(?:, )?(?:question to (?P<addressee>{CALLED}), (?P<status>{STATUS}))?\))?: "
    rf"(?:(?P<deleted>\[message deleted\])|{KINDS}"
    rf"(?:\[sent because (?P<asker>You|{CALLED}) asked (?P<asked>{QUOTED}) "
    rf"in (?P<place>{QUOTED})\] )?"
    rf"(?P<text>{QUOTED}))"
    rf"(?P<media>(?: {CAPTION})*)"
    r"(?: \[(?P<seen>SEEN|NEW)\])?"
    "(?P<trigger> \u2190 TRIGGER)?(?P<resume> \u2190 RESUME)?"
    "(?P<timeout> \u2190 RESUME \\(timeout\\))?"
)
MEMBER = rf"{CALLED}(?: \(agent\))?"
CHAT = re.compile(
    rf"  - (?P<title>{QUOTED}) \(id: (?P<id>{ID})\)"
    rf"(?:(?P<active> \[ACTIVE\])|: (?P<members>{MEMBER}(?:, {MEMBER})*)(?:, and \d+ more)?|)"
)
FROM = rf'(?:{CALLED}(?: in {QUOTED})?|from (?:this chat|a chat|{QUOTED}) with {CALLED}[^:"]*): '
GOAL = re.compile(
    rf"  - (?:\(operator\) (?P<own>.+)|(?:{FROM})?(?P<text>{QUOTED})) "
    r"\((?P<long>long-term, )?priority: (?P<priority>\d)"
    rf"(?:, id: (?P<id>{ID}))?\)"
)
PLAN = re.compile(
    rf"  - (?P<name>{QUOTED}) \((?:once at |cron: (?P<cron>[^(),]+) in "
    rf"(?P<zone>[A-Za-z/_]+), next at )(?P<next>{TIME}), in [0-9dhm ]+\)"
)
AGE = r"(?:just now|\d+ (?:min|h|days) ago)"
OTHER = re.compile(rf"  - (?P<title>{QUOTED})(?: \(id: (?P<id>{ID})\))?, {AGE}: (?P<note>{QUOTED})")
SOURCE = re.compile(rf"  from (?P<title>{QUOTED})(?: \(id: (?P<id>{ID})\))?, {AGE}")
SPEAKER = rf"(?:{CALLED}|You)"
LISTED = rf"{SPEAKER}(?:, {SPEAKER})*(?: and {SPEAKER})?"
NAMED = rf"{SPEAKER}(?: \(not started\))?"
TOLD = rf"{CALLED} \(msg:\d+(?:, msg:\d+)*\)"
SENTENCES = [
    re.compile(sentence)
    for sentence in (
        (
            rf"(?P<who>{SPEAKER}) wrote (?:the message below|msg:(?P<seq>\d+))"
            rf"(?: in (?P<title>{QUOTED}))?(?: in reply to your msg:\d+)?"
            rf"(?: and named {NAMED}(?:, {NAMED})*(?: and {NAMED})?(?:, not you)?)?\."
        ),
        rf"(?P<waits>{CALLED}) waits for a reply\.",
        rf"The same message also started {LISTED}\.",
        r"Chain depth \d+ of \d+(?:: your messages start no other agent)?\.",
        r"You have not answered the last \d+ messages yet\.",
        (
            rf"{TOLD}(?:, {TOLD})*(?: and {TOLD})? (?:named|addressed) you; "
            r"(?:it has no|neither has an|none has an) answer yet\."
        ),
        (
            rf"Your active chat is now {QUOTED}\. (?:{CALLED} waits in|This run belongs to) "
            rf"{QUOTED}(?:: to answer there, give its chat_id)?\."
        ),
        rf"{CALLED} asked you to respond now(?: in {QUOTED})?\.",
        (
            rf"Your plan (?P<plan>{QUOTED})(?: for {QUOTED})?, set by {CALLED}, "
            r"was due at (?:\d{4}-\d\d-\d\d )?\d\d:\d\d [A-Z+\-0-9]+\."
        ),
        rf"The service (?P<service>{QUOTED}) sent this webhook(?: in {QUOTED})?\.",
        rf"An operator (?:approved|refused) your call of \w+(?: in {QUOTED})?\.",
        rf"A message(?: in {QUOTED})? that is not there any more\.",
        r"A (?:message|request) in another chat, whose members alone may know it\.",
        r"(?:One of your plans|A webhook), which the readers of this chat may not know\.",
        rf"{CALLED} gets no more \w+ after a reply of STOP alone\.",
        (
            rf"You then asked (?:msg:\d+(?: in {QUOTED})?|in another chat) and waited\. "
            rf"(?:The wait ended with a timeout: nobody replied\.|Someone replied there\."
            rf"|{SPEAKER} replied with (?:msg:\d+|the message below)\. Continue from there\.)"
        ),
        (
            r"This number was silent for \d+ days and may be another person's now; "
            r"Skein has asked\. Until the answer, mention nothing from before, use no name, "
            r"and do nothing but answer here\."
        ),
        r"Nobody has written just now, so say nothing\.",
    )
]
BORROWED = re.compile(rf"  (?P<author>{SPEAKER}): (?P<text>{QUOTED})")
HINT = re.compile(r"  \([A-Za-z][\w ,.':]+\.\)")  # our own words, from `prompts/`
PROFILE = re.compile(rf"  - (?P<field>{ID}): (?P<value>.+)")
MEMORY = re.compile(
    r"  - (?:\[\d{4}-\d\d-\d\d\] )?"
    rf"(?:\(operator\) (?P<own>\S.*)|(?:{FROM})?(?P<text>{QUOTED}))"
)
NOTED = r"msg:\d+ \d{4}-\d\d-\d\d \d\d:\d\d [A-Z+\-0-9]+"
TURN = re.compile(
    rf"\[(?P<name>{CALLED}) \((?P<kind>human|agent)\)(?:, {NOTED})?(?:, reply to msg:\d+)?"
    rf"(?:, question to (?P<addressee>{CALLED}), (?P<status>{STATUS}))?\] "
    r"(?P<text>.*)",
    re.DOTALL,
)


class Said(NamedTuple):
    """One entry of a timeline."""

    seq: int
    sender: str | None
    text: str
    reply_to: int | None
    asker: str | None
    asked: str | None
    place: str | None
    media: tuple[str, ...]
    seen: bool
    marks: tuple[str, ...]
    addressee: str | None = None
    status: str | None = None


def plain(label: str) -> str:
    """A name or id as it is, from how it is written."""
    return str(json.loads(label)) if label.startswith('"') else label


def lines_of(section: str, name: str) -> list[str]:
    """The lines below a section's name, each a line for every reader of lines there is."""
    head, *lines = section.split("\n")
    assert head.startswith(name)
    assert section.splitlines() == [head, *lines]
    return lines


class Participant(NamedTuple):
    """One member in the legend."""

    shown: str
    name: str
    kind: str
    id: str | None
    you: bool
    left: bool


def legend(section: str) -> dict[str, Participant]:
    """The participants, by the name that entries give them; the agent as `You`."""
    [line] = lines_of(section, "PARTICIPANTS:")
    found: dict[str, Participant] = {}
    position, line = 0, line.removeprefix("  ")
    while position < len(line):
        match = PERSON.match(line, position)
        assert match is not None, line[position:]
        you, full = match["you"] is not None, match["full"]
        shown = "You" if you else match["name"]
        assert shown not in found
        found[shown] = Participant(
            shown=shown,
            name=plain(full) if full else match["name"].split(" (")[0],
            kind=match["kind"],
            id=plain(match["id"]) if match["id"] else None,
            you=you,
            left=match["left"] is not None,
        )
        position = match.end()
        if position < len(line):
            assert line.startswith(" \u00b7 ", position)
            position += 3
    return found


def timeline(section: str) -> tuple[str, list[Said]]:
    """A history: the chat's title and what was said."""
    head = re.fullmatch(
        rf"CHAT HISTORY \(({QUOTED}), [A-Za-z/_]+\):", section.split("\n", maxsplit=1)[0]
    )
    assert head is not None
    lines = lines_of(section, "CHAT HISTORY")
    assert not lines or DAY.fullmatch(lines[0])
    return plain(head[1]), [said(line) for line in lines if not DAY.fullmatch(line)]


def said(line: str) -> Said:
    """One entry of a history."""
    match = ENTRY.fullmatch(line)
    assert match is not None, line
    found = match.groupdict()
    texts = {
        name: None if found[name] is None else plain(found[name]) for name in ("asked", "place")
    }
    return Said(
        seq=int(found["seq"]),
        sender=found["name"],
        text="" if found["deleted"] else plain(found["text"]),
        reply_to=int(found["reply_to"]) if found["reply_to"] else None,
        asker=found["asker"],
        asked=texts["asked"],
        place=texts["place"],
        media=tuple(plain(each) for each in re.findall(QUOTED, found["media"])),
        seen=found["seen"] == "SEEN",
        marks=tuple(mark for mark in ("trigger", "resume", "timeout") if found[mark]),
        addressee=found["addressee"],
        status=found["status"],
    )


def opens_entry(line: str) -> bool:
    """Whether a line could pass for the start of an entry, or for a note of ours before one."""
    seen = "".join(one for one in line if one.isprintable() and not one.isspace())
    return unicodedata.normalize("NFKC", seen[:1]) == "[" and not seen.startswith("[attached:")


def without_bars(text: str) -> str:
    """What somebody said, from how it stands in a turn: each line but the first behind a bar."""
    first, *further = text.split("\n")
    assert all(line == "|" or line.startswith("| ") for line in further)
    return "\n".join([first, *(line[2:] for line in further)])


def rows(section: str, name: str, row: re.Pattern[str]) -> list[dict[str, Any]]:
    """The rows of a list, every one of which must be of this form."""
    found = []
    for line in lines_of(section, name):
        match = row.fullmatch(line)
        assert match is not None, line
        found.append(match.groupdict())
    return found


def others(section: str, *, hint: bool) -> list[tuple[str, str | None, str]]:
    """Where other conversations stand: title, id and note of each."""
    lines = lines_of(section, "OTHER ACTIVE CONVERSATIONS:")
    if hint:
        assert HINT.fullmatch(lines.pop(0))
    found = []
    for line in lines:
        row = OTHER.fullmatch(line)
        assert row is not None, line
        found.append((plain(row["title"]), row["id"] and plain(row["id"]), plain(row["note"])))
    return found


def borrowed(section: str) -> tuple[str, str | None, list[tuple[str, str]]]:
    """What was borrowed: the source's title and id, and who said what there."""
    first, note, *lines = lines_of(section, "BORROWED CONTEXT:")
    source = SOURCE.fullmatch(first)
    assert source is not None, first
    assert HINT.fullmatch(note), note
    words = []
    for line in lines:
        match = BORROWED.fullmatch(line)
        assert match is not None, line
        words.append((match["author"], plain(match["text"])))
    return plain(source["title"]), source["id"] and plain(source["id"]), words


def summary(section: str) -> str:
    """What a conversation's summary says."""
    [line] = lines_of(section, "CONVERSATION SUMMARY (earlier messages):")
    return plain(line.removeprefix("  "))


def members(row: dict[str, Any]) -> list[str]:
    """The names of a chat's members besides the agent."""
    if row["members"] is None:
        return []
    return [each.removesuffix(" (agent)") for each in row["members"].split(", ")]


class Cause(NamedTuple):
    """A trigger: what its sentences say by name, and its text."""

    said: dict[str, str]
    kind: str | None
    text: str | None


def trigger(section: str) -> Cause:
    """The sentences of a trigger, each of a known form, and the text among them."""
    said: dict[str, str] = {}
    kind: str | None = None
    words: str | None = None
    lines = lines_of(section, "TRIGGER:")
    for position, line in enumerate(lines):
        whole = line.removeprefix("  ")
        text = re.fullmatch(rf"(message|instruction): ({QUOTED})(?: {CAPTION})*", whole)
        if text is not None:
            assert kind is None
            kind, words = text[1], plain(text[2])
            continue
        if whole.startswith("payload: "):
            behind = [after.removeprefix("|").removeprefix(" ") for after in lines[position + 1 :]]
            assert all(after.startswith("|") for after in lines[position + 1 :])
            return Cause(said, whole.removeprefix("payload: "), "\n".join(behind))
        match = next(filter(None, (each.fullmatch(whole) for each in SENTENCES)), None)
        assert match is not None, line
        said |= {name: value for name, value in match.groupdict().items() if value is not None}
    return Cause(said, kind, words)
