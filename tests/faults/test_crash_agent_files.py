"""An agent is imported from a file, with a death at every call to the table on the way."""

from typing import Any

import pytest

import admin_api
from tests.fakes.table import MemoryTable
from tests.faults.sampling import FaultShare
from tests.support.api_client import Answer, Client
from tests.support.builders import World
from tests.support.fakes import Fuse, Killed
from tests.support.own_tools import LOOK_UP

METHODS = ("get", "get_many", "query", "write", "transact")
FILE: dict[str, Any] = {
    "agent": {"name": "Mira", "enabled_tools": ["send_message", "order_status"], "listed": True},
    "plans": [{"name": "Weekly", "instruction": "Look.", "cron": "0 17 * * SUN"}],
    "goals": [{"text": "Sell"}, {"text": "Rest"}],
    "memories": [{"text": "The shop is red"}],
    "documents": [{"name": "hours", "text": "9 to 5", "global": True}, {"name": "prices"}],
    "skills": [{"name": "refunds", "text": "Refund."}],
    "tools": [LOOK_UP],
}
ITEMS = {"plans": 1, "goals": 2, "memories": 1, "documents": 2}
CHANGED = {**FILE, "agent": {**FILE["agent"], "system_prompt": "You are new."}}


class Importing(World):
    """An operator who imports a file."""

    def __init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        super().__init__(overrides={"table": self.fuse.guard(inner, "table", METHODS)})
        self.table = inner
        self.operator = Client(self, admin_api, sub="usr_op", scope="admin")
        self.fuse.disarm()

    def create(self) -> Answer:
        headers = {"Idempotency-Key": "5f0c"}
        return self.operator.call("POST", "/v1/agents/file", FILE, headers=headers)

    def update(self, agent_id: str) -> Answer:
        return self.operator.put(f"/v1/agents/{agent_id}/file", CHANGED)

    def agents(self) -> list[str]:
        """The agents that there are; each has all of its items."""
        agents: list[str] = [each["id"] for each in self.operator.get("/v1/agents").body["items"]]
        for agent in agents:
            for kind, count in ITEMS.items():
                found = self.operator.get(f"/v1/agents/{agent}/{kind}").body["items"]
                assert len(found) == count, kind
        return agents


def deaths(world: Importing) -> list[tuple[int, bool]]:
    calls = len(world.fuse.calls)
    return [(strike, after) for strike in range(1, calls + 1) for after in (False, True)]


def test_import_death_leaves_no_half_agent_and_retry_makes_one(share: FaultShare) -> None:
    undisturbed = Importing()
    assert undisturbed.create().status == 201
    for strike, after in share.of(deaths(undisturbed)):
        world = Importing()
        world.fuse.arm(strike, after=after)
        with pytest.raises(Killed):
            world.create()
        world.fuse.disarm()
        assert len(world.agents()) <= 1
        made = world.create()
        assert made.status == 201, made.body
        assert world.agents() == [made.body["id"]]


def test_update_death_and_retry_change_the_agent_once(share: FaultShare) -> None:
    undisturbed = Importing()
    agent = undisturbed.create().body["id"]
    undisturbed.fuse.disarm()
    assert undisturbed.update(agent).status == 200
    for strike, after in share.of(deaths(undisturbed)):
        world = Importing()
        agent = world.create().body["id"]
        world.fuse.arm(strike, after=after)
        with pytest.raises(Killed):
            world.update(agent)
        world.fuse.disarm()
        assert world.update(agent).body["system_prompt"] == "You are new."
        assert world.agents() == [agent]
        versions = world.operator.get(f"/v1/agents/{agent}/versions").body["items"]
        assert [each["version"] for each in versions] == [2, 1]
