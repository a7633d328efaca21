"""Reserve and settle, with a death at every call: all runs end, and nothing stays reserved."""

from skein.models.quotas.limit import Allowance, owner_of_user
from skein.models.runs.run import Run
from skein.settings import Settings
from tests.faults.deployment import Deployment, deaths, named
from tests.faults.sampling import FaultShare
from tests.support.builders import TENANT, bot, person

HUSAM, COACH = person(), bot()
CHATS = ("chat_1", "chat_2", "chat_3")


class Crowded(Deployment):
    """A person writes in three chats and may have one run at work."""

    def __post_init__(self) -> None:
        self.settings = Settings(user_concurrent_runs=1)
        super().__post_init__()
        self.agent(COACH.id)
        for chat_id in CHATS:
            self.chat(HUSAM, COACH, chat_id=chat_id, respond="every")
            self.post("Hello", HUSAM, chat_id=chat_id)
        self.fuse.disarm()

    @property
    def allowance(self) -> Allowance:
        owner = owner_of_user(HUSAM.id)
        return Allowance.from_optional(
            self.table.get(Allowance.key_of(TENANT, owner)), TENANT, owner
        )

    def check(self) -> None:
        runs: list[Run] = [run for chat_id in CHATS for run in self.runs(chat_id)]
        assert [run.status for run in runs] == ["done"] * len(CHATS)
        for chat_id in CHATS:
            assert [one.sender.kind for one in self.messages(chat_id)] == ["user", "agent"]
        now = self.clock.now()
        assert not [p for p in self.allowance.permits.held.values() if p.until > now]
        assert not [run for run in self.allowance.permits.waiting if run.until > now]


def test_death_at_any_call_leaves_no_run_waiting_and_no_token_reserved(share: FaultShare) -> None:
    world = Crowded()
    world.live()
    world.check()
    calls = list(world.fuse.calls)
    for strike in share.of(deaths(calls)):
        with named(strike, calls=calls):
            world = Crowded()
            world.plan(strike)
            world.live()
            assert world.deaths == 1
            world.clock.advance(300)
            world.check()
