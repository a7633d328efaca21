"""Memories of one agent, for the tests of `memory`."""

from typing import Any

from skein.memory.models.memory import Memory
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner, Reach
from tests.support.builders import TENANT, World

OWNER = Owner(tenant=TENANT, agent_id="agt_a")


def add(world: World, text: str = "Ann likes tea", **fields: Any) -> Memory:
    values: dict[str, Any] = {"owner": OWNER, "kind": "core", "made_by": "tool"} | fields
    return world.app.memories.add(values.pop("owner"), text, **values).memory


def live(world: World, reach: Reach = OWNER.reach) -> list[str]:
    return [memory.text for memory in world.app.memories.live(reach)]


def reach(*people: str) -> Reach:
    readers = Audience(open=False, people=people)
    return Reach(tenant=TENANT, agent_id="agt_a", scopes=(None, "chat:chat_1"), readers=readers)
