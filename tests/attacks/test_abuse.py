"""Abuse: whatever one person calls, what it costs others stays within the person's limits.

Random calls are made in the name of one person. The texts, segments, tokens and workers' seconds
that they cause to others are summed up, while each service of the tenant is slow on purpose.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from skein.errors import Ambiguous, Rejected
from skein.events import sending
from skein.events.api import NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.events.models import lanes
from skein.events.models.lanes import MAX_PAUSE
from skein.models.api.chats import MemberRequest, NewChat
from skein.models.common.base import MemberRef
from skein.models.common.breaker import MAX_FAILURES, Breaker
from skein.models.common.http import HttpAnswer, HttpRequest
from skein.models.config.overrides import TenantOverridesChange
from skein.models.delivery.delivery import Delivery
from skein.models.delivery.sms import OutgoingSms
from skein.models.outbox.jobs import EventJob, Job
from skein.models.quotas.limit import DAY, Rate
from skein.models.runs.completion import ModelRequest, TokenUsage
from skein.services.chats import first_contact
from skein.services.choices import invitation_texts
from skein.services.choices.invitation_texts import InvitationTexts
from skein.services.quotas.token_budget import TokenBudget
from skein.settings import Settings
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import Calls, ScriptedModel
from tests.support.first_contact import reachable, text_in
from tests.support.limits import counted, days_of, most_calls
from tests.support.own_tools import own_tool

MALLORY = person("usr_mallory", "Mallory evil.example")
DIRECT = "chat_mallory"
PEOPLE = 8
CALLS = 25
TEXTS, SEGMENTS, TOKENS = 5, 6, 3_000  # of one person and day
ANSWER = TokenUsage(input_tokens=250, output_tokens=50)
MOST_OF_AN_ANSWER = 300  # tokens beyond the limit: it is checked before each answer
LOOK, LOOK_SECONDS, EVENT_SECONDS = "look", 5, 10
LANES = 2  # of an endpoint at work at the same time
GROWING_PAUSES = 6  # of a breaker, until they are the longest
SERVICE = "https://slow.example"
PATHS = (f"/{LOOK}", "/events")
AT_WORK = 4  # workers that look for events at the same time
QUICK = (4, 5)  # the seeds of stories that together exceed each limit that is removed
WHOLE = 400  # stories


@dataclass
class SlowService:
    """A service that never answers: each call lasts until its time-out.

    Attributes:
        seconds: The workers' seconds so far, by path.
        most: The most workers that sent events at the same time.
    """

    others: Callable[[], object] = lambda: None
    advance: Callable[[float], object] = lambda _: None
    seconds: Counter[str] = field(default_factory=Counter)
    most: int = 0
    _at_work: int = 0

    def send(self, request: HttpRequest, *, seconds: float) -> HttpAnswer:
        """See `skein.ports.OutboundHttp`."""
        path = request.url.removeprefix(SERVICE)
        self.seconds[path] += round(seconds)
        if path == "/events":
            self._at_work += 1
            self.most = max(self.most, self._at_work)
            if self._at_work < AT_WORK:
                self.others()
            self._at_work -= 1
        if self._at_work == 0:  # those at work at the same time wait for the same seconds
            self.advance(seconds)
        raise Ambiguous("the service did not answer")


def looks_it_up(request: ModelRequest) -> Calls:
    """The model's answer: two calls of the slow tool, then words."""
    if request.messages[-1].role == "tool":
        return Calls((), "Later.")
    return Calls(((LOOK, {}), (LOOK, {})))


class Abuse(World):
    """Mallory in the app, and people on SMS, some without consent, who know the agent only.

    Attributes:
        draws: Draws the calls.
        without_consent: The phones of those without consent.
        began: When the calls begin.
        asked: The phones of those who have replied to an announcement.
        waiting: The jobs of events that no worker has taken.
    """

    def __init__(self, seed: int) -> None:
        self.slow = SlowService()
        super().__init__(
            settings=Settings(user_segments_per_day=SEGMENTS, user_tokens_per_day=TOKENS),
            model=ScriptedModel(default=looks_it_up, used=ANSWER),
            overrides={"outbound_http": self.slow},
        )
        self.slow.others, self.slow.advance = self.send_beside, self.clock.advance
        self.draws = random.Random(seed)
        self.chats: list[str] = []
        self.asked: set[str] = set()
        self.waiting: list[Job] = []
        self.agent(enabled_tools=(LOOK,))
        http = {"method": "POST", "url": f"{SERVICE}/{LOOK}"}
        schema = {"type": "object", "properties": {}}
        tool: dict[str, Any] = {"name": LOOK, "description": "Look.", "parameters": schema}
        own_tool(self, tool | {"http": http, "timeout_seconds": LOOK_SECONDS})
        self.line()
        self.known(MALLORY)
        self.chat(MALLORY, bot(), chat_id=DIRECT, kind="direct")
        change = TenantOverridesChange.model_validate({"team_name": "Acme"})
        self.app.tenant_settings.change(TENANT, change)
        self.without_consent = {phone_of(number) for number in range(PEOPLE) if number % 4 == 0}
        for number in range(PEOPLE):
            given = (f"usr_{number}", f"Person {number}", phone_of(number))
            reachable(self, *given, consent=False)
            text_in(self, "START", f"SM{number}", phone_of(number))
            if phone_of(number) in self.without_consent:
                reachable(self, *given, consent=False)
        self.drain()
        self.sms.taken.clear()
        self.attach_feed()
        new = NewEndpoint(url=f"{SERVICE}/events", types=("message.created", "run.ended"))
        self.app.get(EventEndpoints).create(TENANT, new)
        self.clock.advance(DAY.total_seconds())  # their own segments flow back
        self.began = self.clock.now()

    def handle(self, job: Job) -> None:
        """Play a job; those of events wait until all others are done."""
        if isinstance(job, EventJob):
            self.waiting.append(job)
        else:
            super().handle(job)

    def run_ready(self) -> int:
        """See `World`."""
        played = super().run_ready()
        while self.waiting:
            self.send_beside()
        return played

    def send_beside(self) -> None:
        """Let one more worker take the next job of events."""
        if self.waiting:
            super().handle(self.waiting.pop(0))

    def call(self) -> None:
        """Make one call; some are refused."""
        people = self.draws.sample(range(PEOPLE), self.draws.randint(1, PEOPLE))
        calls = (
            *(self.open, self.invite, self.remove, self.discard),
            *(self.wait, self.wait, self.reply, self.write, self.write),
        )
        with suppress(Rejected):
            self.draws.choice(calls)(tuple(f"usr_{number}" for number in people))
        self.tick()
        self.drain()

    def open(self, people: tuple[str, ...]) -> None:
        members = (*(MemberRequest(kind="user", id=each) for each in people),)
        members += (MemberRequest(kind="agent", id="agt_a"),)
        new = NewChat(kind="group", title="Win at https://evil.example", members=members)
        self.chats.append(self.app.chat_admin.create(TENANT, MALLORY, new).chat.id)

    def write(self, people: tuple[str, ...]) -> None:
        """Write at once to the agent alone and in all own groups."""
        for chat_id in (DIRECT, *self.chats):
            self.post(f"@Coach, look for {people[0]}", MALLORY, chat_id=chat_id)

    def invite(self, people: tuple[str, ...]) -> None:
        if self.chats:
            member = MemberRef(kind="user", id=people[0])
            chat_id = self.draws.choice(self.chats)
            self.app.chat_admin.add_member(TENANT, chat_id, MALLORY, member)

    def remove(self, people: tuple[str, ...]) -> None:
        if self.chats:
            member = MemberRef(kind="user", id=people[0])
            chat_id = self.draws.choice(self.chats)
            self.app.chat_admin.remove_member(TENANT, chat_id, MALLORY.ref, member)

    def discard(self, people: tuple[str, ...]) -> None:
        del people
        if self.chats:
            chat_id = self.chats.pop(self.draws.randrange(len(self.chats)))
            self.app.chat_admin.discard(TENANT, chat_id, MALLORY.ref)

    def wait(self, people: tuple[str, ...]) -> None:
        self.clock.advance(self.draws.choice((60, 5 * 3_600, 12 * 3_600)) * len(people) / PEOPLE)

    def reply(self, people: tuple[str, ...]) -> None:
        """Let one of the people answer the newest text that they got, if it announces."""
        phone = phone_of(int(people[0].removeprefix("usr_")))
        texts = [sms.body for sms, _ in self.sms.taken if sms.phone == phone]
        codes = re.findall(r"Reply (\d+) to see", texts[-1]) if texts else []
        if codes:
            self.asked.add(phone)
            text_in(self, codes[0], f"SM-{self.clock.now()}", phone)

    def counted(self, user_id: str, *names: str) -> int:
        """What counts for a person since the calls began, under names that begin so."""
        return counted(self, self.began, user_id, *names)


def phone_of(number: int) -> str:
    return f"+1202555{number:04}"


def abuse(seeds: Iterable[int]) -> int:
    """Play a story for each seed, and return the number of announcements.

    Raises:
        AssertionError: Something that others pay for exceeds a limit.
    """
    announced = 0
    for seed in seeds:
        world = Abuse(seed)
        for number in range(CALLS):
            before = len(world.sms.taken)
            world.call()
            where = f"seed {seed}, call {number + 1}"
            announced += _check_texts(world, [sms for sms, _ in world.sms.taken[before:]], where)
            _check_tokens(world, where)
            _check_work(world, where)
        assert all(world.slow.seconds[path] for path in PATHS), "or the search finds nothing"
    return announced


def _days(world: Abuse) -> float:
    """How often a limit of a day may be used up: a full bucket, and what flows in."""
    return days_of(world, world.began)


def _check_texts(world: Abuse, new: list[OutgoingSms], where: str) -> int:
    """Check the texts so far and those of the last call; return how many of these announce."""
    caused = [sms for sms, _ in world.sms.taken if " invites you to " in sms.body]
    announced = [sms for sms in caused if sms.body.startswith("Somebody at Acme with whom you")]
    named = {sms.phone for sms in caused if sms not in announced}
    begun = [sms for sms in new if sms in announced]
    assert len(announced) <= TEXTS * _days(world), where
    assert world.counted(MALLORY.id, "units#sms") <= SEGMENTS * _days(world), where
    assert world.counted(MALLORY.id, "texts#sms") == len(caused), where
    assert named <= world.asked, f"{where}: named to those who did not ask"
    assert not begun or 8 <= world.clock.now().hour < 21, where
    assert not {sms.phone for sms in begun} & world.without_consent, where
    assert not [sms for sms in caused if "evil.example" in sms.body or "://" in sms.body], where
    assert not [s for s in announced if "evil" in s.body or "Mallory" in s.body], where
    return len(begun)


def _check_tokens(world: Abuse, where: str) -> None:
    """Check that the person pays for all tokens, and within the limit."""
    tokens = ("input_tokens", "output_tokens")
    assert world.counted(MALLORY.id, *tokens) <= TOKENS * _days(world) + MOST_OF_AN_ANSWER, where
    others = [f"usr_{number}" for number in range(PEOPLE)]
    assert not any(world.counted(other, *tokens) for other in others), where


def _check_work(world: Abuse, where: str) -> None:
    """Check the workers that the slow services held, and for how long."""
    passed = world.clock.now() - world.began
    assert world.slow.most <= LANES, where
    calls = MAX_FAILURES + LANES + GROWING_PAUSES + passed / MAX_PAUSE
    assert world.slow.seconds["/events"] <= EVENT_SECONDS * calls, where
    assert world.slow.seconds[f"/{LOOK}"] <= LOOK_SECONDS * most_calls(passed), where


@pytest.mark.check
def test_costs_that_a_person_causes_to_others_stay_within_the_limits() -> None:
    assert abuse(QUICK) > len(QUICK)  # or the search finds nothing


def test_service_that_fails_is_left_alone_while_a_person_writes_on() -> None:
    world = Abuse(0)
    for number in range(5):
        world.write(("usr_0",))
        world.drain()
        _check_work(world, f"message {number + 1}")
    assert all(world.slow.seconds[path] for path in PATHS), "or the test checks nothing"


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_costs_that_a_person_causes_to_others_stay_within_the_limits_in_hundreds_of_stories() -> (
    None
):
    assert abuse(range(WHOLE)) > WHOLE


def _still_closed(breaker: Breaker, *_: Any, **__: Any) -> Breaker:
    return breaker


def _any_time(*_: Any) -> None:
    return None


LIMITS: dict[str, tuple[Any, str, Any]] = {
    "strangers get an announcement first": (InvitationTexts, "_know_each_other", lambda *_: True),
    "five texts a day and inviter": (invitation_texts, "INVITED", Rate(1_000, DAY)),
    "the inviter pays for segments": (
        Delivery,
        "payer_id",
        property(lambda delivery: delivery.user_id),
    ),
    "texts wait for quiet hours": (first_contact, "quiet_until", _any_time),
    "tokens have a limit": (TokenBudget, "check", _any_time),
    "two lanes of an endpoint": (lanes, "MAX_LANES", AT_WORK),
    "a breaker for an endpoint and a tool": (Breaker, "failed", _still_closed),
    "calls of events have a deadline": (sending, "CALL_SECONDS", 50.0),
}


@pytest.mark.check
@pytest.mark.parametrize("limit", LIMITS)
def test_quick_abuse_search_without_a_limit_finds_a_violation(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, without = LIMITS[limit]
    monkeypatch.setattr(owner, name, without)
    with pytest.raises(AssertionError, match=r"^seed \d+, call \d+"):
        abuse(QUICK)
