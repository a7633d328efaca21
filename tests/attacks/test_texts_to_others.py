"""Abuse: over random calls of one person, texts and segments caused to others stay in limits."""

import random
import re
from contextlib import suppress

from skein.errors import Rejected
from skein.models.api.chats import MemberRequest, NewChat
from skein.models.common.base import MemberRef
from skein.models.config.overrides import TenantOverridesChange
from skein.models.delivery.sms import OutgoingSms
from skein.models.quotas.limit import DAY
from skein.models.quotas.usage import user_usage_key
from skein.settings import Settings
from tests.support.builders import TENANT, World, person
from tests.support.first_contact import reachable, text_in

MALLORY = person("usr_mallory", "Mallory evil.example")
PEOPLE = 8
CALLS = 25
TEXTS, SEGMENTS = 5, 6  # of one person and day
STORIES = 5


class Abuse(World):
    """Mallory in the app, and people on SMS, some without consent, who know the agent only.

    Attributes:
        draws: Draws the calls.
        without_consent: The phones of those without consent.
        began: When the calls begin.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(settings=Settings(user_segments_per_day=SEGMENTS))
        self.draws = random.Random(seed)
        self.chats: list[str] = []
        self.replies = 0
        self.agent()
        self.line()
        self.known(MALLORY)
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
        self.clock.advance(DAY.total_seconds())  # their own segments flow back
        self.began = self.clock.now()

    def call(self) -> None:
        """Make one call; some are refused."""
        people = self.draws.sample(range(PEOPLE), self.draws.randint(1, PEOPLE))
        calls = (self.open, self.invite, self.remove, self.discard, self.wait, self.reply)
        with suppress(Rejected):
            self.draws.choice(calls)(tuple(f"usr_{number}" for number in people))
        self.tick()
        self.drain()

    def open(self, people: tuple[str, ...]) -> None:
        members = tuple(MemberRequest(kind="user", id=each) for each in people)
        new = NewChat(kind="group", title="Win at https://evil.example", members=members)
        self.chats.append(self.app.chat_admin.create(TENANT, MALLORY, new).chat.id)

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
        self.clock.advance(self.draws.choice((60, 3_600, 5 * 3_600)) * len(people) / PEOPLE)

    def reply(self, people: tuple[str, ...]) -> None:
        """Let one of the people answer the newest text that they got, if it announces."""
        phone = phone_of(int(people[0].removeprefix("usr_")))
        texts = [sms.body for sms, _ in self.sms.taken if sms.phone == phone]
        codes = re.findall(r"Reply (\d+) to see", texts[-1]) if texts else []
        if codes:
            self.replies += 1
            text_in(self, codes[0], f"SM-reply-{self.replies}", phone)

    def charged(self, user_id: str) -> tuple[int, int]:
        """The SMS and segments that count for a person, over all days."""
        days = (self.clock.now() - self.began).days + 2
        keys = [user_usage_key(TENANT, self.began + day * DAY, user_id) for day in range(days)]
        found = self.table.get_many(keys).values()
        return (
            sum(int(item.get("texts#sms", 0)) for item in found),
            sum(int(item.get("units#sms", 0)) for item in found),
        )


def phone_of(number: int) -> str:
    return f"+1202555{number:04}"


def test_texts_that_a_person_causes_to_others_stay_within_the_limits() -> None:
    announcements = 0
    for seed in range(STORIES):
        world = Abuse(seed)
        for _ in range(CALLS):
            announcements += len(played(world))
    assert announcements > STORIES  # or the search finds nothing


def played(world: Abuse) -> list[OutgoingSms]:
    """Make one call, check what it caused, and return the announcements."""
    before = len(world.sms.taken)
    world.call()
    caused = [sms for sms, _ in world.sms.taken if " invites you to " in sms.body]
    announced = [sms for sms in caused if sms.body.startswith("Somebody at Acme with whom you")]
    new = [sms for sms, _ in world.sms.taken[before:] if sms in announced]
    most = 1 + (world.clock.now() - world.began) / DAY  # a full bucket, and what flows in
    texts, segments = world.charged(MALLORY.id)
    assert len(announced) <= TEXTS * most
    assert segments <= SEGMENTS * most
    assert texts == len(caused)
    assert not new or 8 <= world.clock.now().hour < 21
    assert not {sms.phone for sms in new} & world.without_consent
    assert not [sms for sms in caused if "evil.example" in sms.body or "://" in sms.body]
    assert not [sms for sms in announced if "evil" in sms.body or "Mallory" in sms.body]
    return new
