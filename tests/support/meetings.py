"""Generated meetings: groups whose people answer in words, late, twice, unclearly or not at all.

One person may do several of these: answer unclearly, be asked back, answer twice, and do so late.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import sms_webhook
from skein.errands.models.errand import MAX_TEXTS, Slot
from skein.errands.models.meeting import first_common
from skein.models.common.base import NamedMember
from skein.models.outbox.due import due_before
from skein.models.runs.completion import ModelRequest
from tests.faults.deployment import Phone
from tests.faults.texting_story import TEXT, SmsLine
from tests.support.agents import actor
from tests.support.builders import NOON, bot, person
from tests.support.fakes import Said, calls
from tests.support.first_contact import reachable

COACH = bot()
GROUP = "chat_group"
EARLIEST = datetime.fromisoformat("2026-02-23T08:00:00+00:00")
LATEST = datetime.fromisoformat("2026-02-27T22:00:00+00:00")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
LENGTH = timedelta(hours=1)
UNTIL = NOON + timedelta(days=2)
UNCLEAR = "hm, let me think"
ANSWERED = re.compile(r"Reply ([0-9]{6}) and your answer")
CONFIRMS = re.compile(r"(Yes|No): reply ([0-9]{6})")
TO_FIND = (
    "find_time",
    {
        "topic": "dinner",
        "earliest": "2026-02-23T08:00",
        "latest": "2026-02-27T22:00",
        "until": "2 days",
    },
)


@dataclass(frozen=True)
class Guest:
    """How one person behaves.

    Attributes:
        words: What they answer, in order: the first question, and a question back.
        times: What the words mean; None if they never make sense.
        late: Whether the last of the words come after the deadline.
        twice: Whether they send each answer again, with other words.
        confirms: Whether they confirm a proposal; None for no answer.
    """

    who: NamedMember
    phone: str
    words: tuple[str, ...]
    times: tuple[Slot, ...] | None
    late: bool = False
    twice: bool = False
    confirms: bool | None = True


@dataclass(frozen=True)
class Gathering:
    """A generated meeting."""

    guests: tuple[Guest, ...]
    readings: dict[str, list[dict[str, str]]] = field(default_factory=dict)

    @property
    def proposal(self) -> datetime | None:
        """The time to propose; None for none."""
        if any(g.times is None or g.late or not g.words for g in self.guests):
            return None
        times = [guest.times or () for guest in self.guests]
        return first_common(times, EARLIEST, LATEST, LENGTH)

    @property
    def told(self) -> list[str]:
        """What the group is told, by the beginnings of the messages."""
        if self.proposal is None:
            return ['No time for "dinner" suits all.']
        day = f"{self.proposal:%A %Y-%m-%d %H:%M}"
        ends = (
            f'"dinner": {day}' if all(g.confirms for g in self.guests) else 'No time for "dinner"'
        )
        return [f'Proposal for "dinner": {day}', ends]


def gatherings(count: int, *, seed: int = 39, people: int | None = None) -> Iterator[Gathering]:
    """Generate meetings of 2 to 10 people."""
    chance = random.Random(seed)
    for _ in range(count):
        yield _gathering(chance, people or chance.randint(2, 10))


def _gathering(chance: random.Random, size: int) -> Gathering:
    readings: dict[str, list[dict[str, str]]] = {}
    common = (chance.randrange(5), chance.randrange(8, 19))
    agree = chance.random() < 0.8
    guests = []
    for number in range(size):
        spans = [
            (chance.randrange(5), chance.randrange(8, 20)) for _ in range(chance.randint(0, 2))
        ]
        spans += [common] if agree else []
        words = _words(number, spans)
        readings[words] = [_span(day, hour) for day, hour in spans]
        says: tuple[str, ...] = (words,)
        times: tuple[Slot, ...] | None = tuple(
            Slot(start=_at(day, hour), end=_at(day, hour + 2)) for day, hour in spans
        )
        odd = chance.random() < 0.25
        late, twice = odd and chance.random() < 0.2, odd and chance.random() < 0.5
        kind = chance.random() if odd else 1.0
        if kind < 0.1:
            says, times = (), None
        elif kind < 0.5:
            says = (UNCLEAR, words)
        elif kind < 0.6:
            says, times = (UNCLEAR, UNCLEAR), None
        confirms = None if chance.random() < 0.03 else chance.random() > 0.03
        guests.append(
            Guest(
                person(f"usr_g{number}", f"Guest{number}"),
                f"+150055501{number:02d}",
                says,
                times,
                late,
                twice,
                confirms,
            )
        )
    return Gathering(tuple(guests), readings)


def _words(number: int, spans: Sequence[tuple[int, int]]) -> str:
    if not spans:
        return f"I cannot come at all, says {number}"
    return f"{number}: " + " or ".join(f"{DAYS[day]} {hour} to {hour + 2}" for day, hour in spans)


def _at(day: int, hour: int) -> datetime:
    return EARLIEST.replace(hour=0) + timedelta(days=day, hours=hour)


def _span(day: int, hour: int) -> dict[str, str]:
    begin, end = _at(day, hour), _at(day, hour + 2)
    return {"start": f"{begin:%Y-%m-%dT%H:%M}", "end": f"{end:%Y-%m-%dT%H:%M}"}


class MeetingStory(SmsLine):
    """A group that looks for a time, with people who have text messages only."""

    def __init__(self, gathering: Gathering) -> None:
        super().__init__()
        self.gathering = gathering
        self.model.default = self._answer
        actor(self)
        for guest in gathering.guests:
            reachable(self, guest.who.id, guest.who.name, guest.phone)
        people = [guest.who for guest in gathering.guests]
        self.chat(*people, COACH, chat_id=GROUP, title="Friends", visibility="private")
        self.phone = Phone(self, sub=people[0].id)
        self._read = 0
        self._sid = 0
        self._late: list[tuple[Guest, str]] = []
        self.fuse.disarm()

    def _answer(self, request: ModelRequest) -> Said:
        if request.answer_schema is not None:
            words = json.loads(request.messages[-1].content)
            times = self.gathering.readings.get(words)
            return json.dumps({"clear": times is not None, "times": times or []})
        if any(message.role == "assistant" for message in request.messages):
            return calls("end_run")
        return calls(TO_FIND)

    def play(self) -> None:
        """Somebody asks for a time, and everybody answers in their way."""
        self.phone.say("Find a time for dinner", GROUP)
        answers = {guest.phone: list(guest.words) for guest in self.gathering.guests}
        self._rests()
        for _ in range(4):
            self._answered(answers, late=False)
        self.clock.set(max(UNTIL + timedelta(minutes=1), self.clock.now()))
        self._rests()
        self._answered(answers, late=True)
        self.clock.advance(1.2 * 86_400)
        self._rests()

    def _rests(self) -> None:
        """Let minutes pass until no job is queued, and nothing is due soon."""
        for _ in range(60):
            self._minute_passes(None)
            soon = due_before(self.clock.now() + timedelta(minutes=16))
            if not self.queued and not any(item["gsi2sk"] < soon for item in self._due()):
                return
        raise AssertionError("it never comes to rest")

    def _answered(self, answers: dict[str, list[str]], *, late: bool) -> None:
        """Let people answer the texts that have come since."""
        new, self._read = self.sms.taken[self._read :], len(self.sms.taken)
        for sms, _ in new:
            guest = next(each for each in self.gathering.guests if each.phone == sms.phone)
            code, choices = ANSWERED.search(sms.body), dict(CONFIRMS.findall(sms.body))
            left = answers[sms.phone]
            if code and guest.late and len(left) == 1 and not late:
                self._late.append((guest, code[1]))
            elif code and left:
                self._answers(guest, code[1], left.pop(0))
            elif choices and guest.confirms is not None:
                self._text(sms.phone, choices["Yes" if guest.confirms else "No"])
        if late:
            for guest, number in self._late:
                self._answers(guest, number, answers[guest.phone].pop(0))
        self._rests()

    def _answers(self, guest: Guest, number: str, words: str) -> None:
        self._text(guest.phone, f"{number} {words}")
        if guest.twice:
            self._text(guest.phone, f"{number} any time")

    def _text(self, phone: str, body: str) -> None:
        self._sid += 1
        webhook = TEXT.but(MessageSid=f"SM{self._sid:032d}", From=phone, Body=body)
        self.webhook(sms_webhook, webhook.signed())

    # ------------------------------------------------------------------ looking

    @property
    def told(self) -> list[str]:
        """What the group was told."""
        return [each.text for each in self.messages(GROUP) if each.report_of is not None]

    @property
    def right(self) -> bool:
        """Whether the group was told the first common time, or that there is none."""
        expected = self.gathering.told
        return len(self.told) == len(expected) and all(
            text.startswith(start) for text, start in zip(self.told, expected, strict=True)
        )

    def check_private(self) -> None:
        """Nobody's words are in another's prompt, and nobody gets more than three texts."""
        for request in self.model.requests:
            prompt = "\n".join(message.content for message in request.messages)
            held = [
                g
                for g in self.gathering.guests
                if any(w in prompt for w in g.words if w != UNCLEAR)
            ]
            assert len(held) <= (1 if request.answer_schema is not None else 0)
        bodies = Counter((sms.phone, sms.body) for sms, _ in self.sms.taken)
        assert max(bodies.values()) == 1, bodies.most_common(3)
        texts = Counter(sms.phone for sms, _ in self.sms.taken)
        assert max(texts.values()) <= MAX_TEXTS, texts
