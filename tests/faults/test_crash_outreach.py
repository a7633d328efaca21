"""Outreach, with a death, a pause or the end at every call to the table.

Each person is written to exactly once, and to nobody once an operator has paused or canceled it.
"""

from typing import Any

import pytest

from skein.models.common.storage import Query
from skein.outreach.api import NewOutreach, OutreachChange
from skein.outreach.models.outreach import Outreach, OutreachStatus
from skein.outreach.outreaches import Outreaches
from skein.outreach.reports import OutreachReports
from tests.fakes.table import MemoryTable
from tests.faults.sampling import FaultShare
from tests.support.builders import TENANT, World
from tests.support.fakes import Fuse, Killed, ScriptedModel
from tests.support.first_contact import reachable

METHODS = ("get", "get_many", "query", "write", "transact")
PHONES = {"usr_ann": "+15005550101", "usr_ben": "+15005550102"}


class Reaching(World):
    """Two people who have consented to texts."""

    def __post_init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(inner, "table", METHODS)}
        self.model = ScriptedModel.saying(default=lambda _: "When can you come?")
        super().__post_init__()
        self.table = inner
        self.agent()
        self.line()
        for user_id, phone in PHONES.items():
            reachable(self, user_id, user_id, phone)
        self.fuse.disarm()

    def create(self, given: dict[str, Any]) -> Outreach:
        new = NewOutreach(
            people=tuple(PHONES), agent_id="agt_a", asked_by="Alice", client_id="may", **given
        )
        return self.app.get(Outreaches).create(TENANT, "usr_op", new)

    def story(self, given: dict[str, Any]) -> int:
        """Play it, with a second call of a client that got no answer; return the calls."""
        try:
            outreach = self.create(given)
        except Killed:
            self.fuse.disarm()
            outreach = self.create(given)
        self.play()
        calls = len(self.fuse.calls)
        self.fuse.disarm()
        self.check(outreach)
        return calls

    def play(self) -> None:
        for wait in (1, 60, 60, 120, 240, 480, 900):
            self.clock.advance(wait)
            for step in (self.tick, self.drain):
                try:
                    step()
                except Killed:
                    self.fuse.disarm()

    def changed_story(
        self, given: dict[str, Any], status: OutreachStatus, number: int, *, after: bool
    ) -> None:
        """Play it, with an operator who pauses or cancels the outreach at one of its calls."""
        outreach = self.create(given)
        written: list[dict[str, list[str]]] = []

        def meanwhile() -> None:
            self.change(outreach, status)
            written.append(self.written)

        self.fuse.arm(number, after=after, meanwhile=meanwhile)
        self.play()
        if not written:  # this time, the story had fewer calls
            meanwhile()
        assert written == [self.written]
        assert len(self.sms.taken) == sum(map(len, self.written.values()))
        if status == "paused":
            self.change(outreach, "active")
            self.play()
            self.check(outreach)
            return
        report = self.app.get(OutreachReports).of(self.app.get(Outreaches).get(TENANT, outreach.id))
        assert {person.state for person in report.people} <= {"sent", "canceled"}
        assert report.counts.get("sent", 0) == len(self.written)

    def change(self, outreach: Outreach, status: OutreachStatus) -> None:
        change = OutreachChange(status=status)
        self.app.get(Outreaches).change(TENANT, outreach.id, change)

    @property
    def written(self) -> dict[str, list[str]]:
        """The messages of each chat that has any."""
        chats = {key.pk.rpartition("#")[2] for key in self.table.all_keys() if "#CHAT#" in key.pk}
        found = {chat: [each.text for each in self.messages(chat)] for chat in chats}
        return {chat: texts for chat, texts in found.items() if texts}

    def check(self, outreach: Outreach) -> None:
        words = "Coach here, for Alice. Reply STOP to get no more texts.\nWhen can you come?"
        assert sorted((sms.phone, sms.body) for sms, _ in self.sms.taken) == sorted(
            (phone, words) for phone in PHONES.values()
        )
        report = self.app.get(OutreachReports).of(self.app.get(Outreaches).get(TENANT, outreach.id))
        assert report.counts == {"sent": 2}
        for person in report.people:
            assert len(self.messages(str(person.chat_id))) == 1
        chats = {str(key.pk) for key in self.table.all_keys() if "#CHAT#" in key.pk}
        assert len(chats) == len(PHONES)
        left = [item for kind in range(8) for item in self._due(kind)]
        assert left == []

    def _due(self, shard: int) -> tuple[dict[str, Any], ...]:
        return self.table.query(Query(f"DUE#outreach#{shard}", index="gsi2", limit=10)).items


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "given", [{"text": "When can you come?"}, {"instruction": "Ask when."}], ids=["text", "run"]
)
def test_crash_at_each_call_writes_to_each_person_once(
    given: dict[str, Any], share: FaultShare
) -> None:
    calls = Reaching().story(given)
    strikes = [(number, after) for number in range(1, calls + 1) for after in (False, True)]
    for number, after in share.of(strikes):
        world = Reaching()
        world.fuse.arm(number, after=after)
        world.story(given)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("status", ["paused", "canceled"])
@pytest.mark.parametrize(
    "given", [{"text": "When can you come?"}, {"instruction": "Ask when."}], ids=["text", "run"]
)
def test_outreach_writes_nothing_once_it_is_paused_or_canceled(
    given: dict[str, Any], status: OutreachStatus, share: FaultShare
) -> None:
    undisturbed = Reaching()
    undisturbed.create(given)
    undisturbed.fuse.disarm()
    undisturbed.play()
    calls = range(1, len(undisturbed.fuse.calls) + 1)
    changes = [(number, after) for number in calls for after in (False, True)]
    for number, after in share.of(changes):
        Reaching().changed_story(given, status, number, after=after)
