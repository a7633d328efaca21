"""Over a limit, with a death at every call: the text is kept, and one notice goes out."""

import sms_webhook
from skein.models.quotas.limit import DAY, Allowance, Rate, owner_of_user
from skein.settings import Settings
from tests.faults.deployment import deaths, named
from tests.faults.sampling import FaultShare
from tests.faults.texting_story import SMS_SETTINGS, TEXT, SmsLine
from tests.support.builders import TENANT

FIRST, SECOND = "SM" + "1" * 32, "SM" + "2" * 32
TOKENS = 20  # an answer takes 15
ROUNDS = [("user", "text"), ("agent", "text"), ("user", "text"), ("agent", "notice")]


class Limited(SmsLine):
    """Somebody has texted, and been answered, and has few tokens left."""

    def __init__(self) -> None:
        super().__init__()
        self.send(FIRST, "First")
        self.live()
        self.fuse.disarm()
        assert self.said == ROUNDS[:2]

    def __post_init__(self) -> None:
        # Summaries are charged to the person, too.
        limits = {"user_tokens_per_day": TOKENS, "auto_summary": False}
        self.settings = Settings(**(SMS_SETTINGS.model_dump() | limits))
        super().__post_init__()

    def send(self, sid: str, body: str) -> None:
        self.webhook(sms_webhook, TEXT.but(MessageSid=sid, Body=body).signed())

    def spend(self) -> None:
        """Let the last tokens be spent elsewhere."""
        user = self.messages(str(self.chat_id))[0].sender
        item = self.table.get(Allowance.key_of(TENANT, owner_of_user(user.id)))
        assert item is not None
        known = Allowance.from_item(item)
        full_at = Rate(TOKENS, DAY).after(known.tokens_full_at, TOKENS, self.clock.now())
        self.table.write(known.changed(self.clock.now(), tokens_full_at=full_at)[1])

    @property
    def said(self) -> list[tuple[str, str]]:
        assert self.chat_id is not None
        return [(m.sender.kind, m.kind) for m in self.messages(self.chat_id)]

    def check_round(self) -> None:
        assert sorted(self.said) == sorted(ROUNDS)
        assert len(self.sms.bodies) == 2
        assert len(self.model.requests) == 1
        assert self.at_rest


def refused_at_the_door() -> Limited:
    """The next text comes when nothing is left, and wakes nobody."""
    world = Limited()
    world.spend()
    return world


def refused_at_work() -> Limited:
    """The next text has woken the agent when the last tokens are spent elsewhere."""
    world = Limited()
    world.send(SECOND, "Second")
    world.spend()
    world.fuse.disarm()
    return world


def test_rate_limit_death_of_webhook_sends_one_notice(share: FaultShare) -> None:
    world = refused_at_the_door()
    world.send(SECOND, "Second")
    world.live()
    world.check_round()
    calls = list(world.fuse.calls)
    for strike in share.of(deaths(calls)):
        with named(strike, calls=calls):
            world = refused_at_the_door()
            world.plan(strike)
            world.send(SECOND, "Second")
            world.live()
            assert world.deaths == 1
            world.check_round()


def test_rate_limit_death_of_worker_sends_one_notice(
    share: FaultShare,
) -> None:
    world = refused_at_work()
    world.live()
    world.check_round()
    assert [run.status for run in world.runs(str(world.chat_id))] == ["done", "canceled"]
    calls = list(world.fuse.calls)
    for strike in share.of(deaths(calls)):
        with named(strike, calls=calls):
            world = refused_at_work()
            world.plan(strike)
            world.live()
            assert world.deaths == 1
            world.check_round()
