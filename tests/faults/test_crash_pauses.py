"""A pause begins and ends, with a death at every call to the table on the way."""

from tests.fakes.table import MemoryTable
from tests.faults.sampling import FaultShare
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import Fuse, Killed, ScriptedModel

HUSAM, COACH = person(), bot()
METHODS = ("get", "get_many", "query", "write", "transact")


class Pausing(World):
    """A direct chat whose person writes while runs are paused."""

    def __post_init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(inner, "table", METHODS)}
        self.model = ScriptedModel.saying("Hello.", "Hello.")
        super().__post_init__()
        self.table = inner
        self.agent()
        self.chat(HUSAM, COACH, kind="direct")
        self.fuse.disarm()

    def surely(self, *, on: bool) -> None:
        """Switch the pause, and again if the caller got no answer."""
        try:
            self.app.pauses.switch(TENANT, "runs", on=on)
        except Killed:
            self.fuse.disarm()
            self.app.pauses.switch(TENANT, "runs", on=on)

    def ticks(self, *seconds: int) -> None:
        """Let time pass, with a tick after each wait."""
        for wait in seconds:
            self.clock.advance(wait)
            for step in (self.tick, self.drain):
                try:
                    step()
                except Killed:
                    self.fuse.disarm()

    def story(self) -> list[str]:
        """Play it; returns the calls to the table."""
        self.surely(on=True)
        try:
            self.post("Hi", HUSAM, client_id="one")
        except Killed:
            self.fuse.disarm()
            self.post("Hi", HUSAM, client_id="one")
        self.ticks(60, 300)
        assert self.texts() == ["Hi"]
        self.surely(on=False)
        self.ticks(60, 60, 300, 600, 900, 60)
        calls = list(self.fuse.calls)
        self.fuse.disarm()
        assert self.texts() == ["Hi", "Hello."]
        assert [run.status for run in self.runs()] == ["done"]
        tenants, _ = self.app.pauses.get(TENANT)
        assert (tenants.since, tenants.ended_at) == ({}, None)
        return calls


def test_pause_crash_at_each_call_loses_no_run(share: FaultShare) -> None:
    calls = Pausing().story()
    numbers = [n for n, call in enumerate(calls, 1) if not call.endswith("query_index")]
    for number in share.of(numbers):
        for after in (False, True):
            world = Pausing()
            world.fuse.arm(number, after=after)
            world.story()
