"""Chats that fall quiet and are consolidated."""

import json
from typing import Any

from skein.models.common.base import NamedMember
from skein.settings import Settings
from tests.support.builders import World, bot, person

HUSAM, ANN = person(), person("usr_ann", "Ann")
COACH, ANALYST = bot(), bot("agt_b", "Analyst")


def remembers(*core: Any, journal: tuple[Any, ...] = ()) -> str:
    """A model's answer."""
    return json.dumps({"journal": list(journal), "core": list(core)})


def group(
    *agents: NamedMember,
    settings: Settings | None = None,
    people: tuple[NamedMember, ...] = (HUSAM,),
    **fields: Any,
) -> World:
    """A group that is consolidated, in which agents only listen."""
    world = World(settings or Settings())
    for agent in agents or (COACH,):
        world.agent(agent.id, agent.name)
    defaults: dict[str, Any] = {"consolidate": True, "respond": "manual"}
    world.chat(*people, *(agents or (COACH,)), **(defaults | fields))
    return world


def quiet(world: World) -> None:
    """Let the chat fall quiet, and the finder and the worker do their work."""
    world.drain()
    world.hours_pass(7)


def texts(world: World, agent_id: str = "agt_a", scope: str | None = None) -> list[str]:
    return [memory.text for memory in world.memories(agent_id, scope) if memory.live]


def asked(world: World, number: int = -1) -> str:
    """What a model was asked, as one text."""
    return "\n".join(m.content for m in world.model.memory_requests[number].messages)
