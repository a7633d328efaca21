"""Calls of a tenant's own tools, and what came of them."""

from typing import Any

from skein.models.chats.chat import Message
from skein.models.runs.step import ToolResult
from skein.services.choices.answering import Answering
from skein.services.choices.effect import GivenAnswer
from tests.support.agents import COACH, HUSAM, results_of, stage
from tests.support.builders import TENANT, World
from tests.support.fakes import calls
from tests.support.own_tools import LOOK_UP, own_tool

NAME, BOOKING = "order_status", "book_table"
LOOK = calls(("order_status", {"order": "17"}))
PRIVATE: dict[str, Any] = {"visibility": "private"}
DIRECT: dict[str, Any] = {"kind": "direct", "visibility": "private", "title": None}


def asked(
    *script: Any,
    record: dict[str, Any] = LOOK_UP,
    members: tuple[Any, ...] = (HUSAM, COACH),
    chat: dict[str, Any] = DIRECT,
    by: Any = HUSAM,
    **changes: Any,
) -> World:
    """Husam has asked something, and the agent has answered with `script`."""
    world = stage(*script, "Here you are.", reply_mode="text", enabled_tools=(record["name"],))
    own_tool(world, record, **changes)
    world.chat(*members, **chat)
    world.post("Where is my order?", by)
    world.drain()
    return world


def results(world: World) -> list[ToolResult]:
    return [one for run in world.runs("chat_1") for one in results_of(world, run)]


def question(world: World) -> Message:
    [asked] = [each for each in world.messages() if each.choice is not None]
    return asked


def answer(world: World, option: str, by: Any = HUSAM) -> None:
    chosen(world, option, by)
    world.drain()


def chosen(world: World, option: str, by: Any = HUSAM) -> None:
    """Somebody has answered the question, and no worker has seen it yet."""
    given = GivenAnswer(
        tenant=TENANT,
        chat_id="chat_1",
        person_id=by.id,
        seq=question(world).seq,
        option=option,
        client_id=f"answer-{option}",
    )
    world.app.get(Answering).answer_in_app(given)
