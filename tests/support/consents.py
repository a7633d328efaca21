"""Alice, her direct chat with the agent, and a team to which she wants something told."""

from typing import Any

from skein.models.chats.chat import Message
from skein.models.chats.choice import Choice
from skein.models.runs.run import Run
from skein.services.choices.answering import Answering
from skein.services.choices.effect import GivenAnswer
from tests.support.agents import COACH, settle, stage
from tests.support.builders import TENANT, World, person

ALICE, ANN, BEN = person("alice", "Alice"), person("ann", "Ann"), person("ben", "Ben")
CAROL = person("carol", "Carol")
DIRECT: dict[str, Any] = {"kind": "direct", "visibility": "private"}
TEAM: dict[str, Any] = {"chat_id": "chat_team", "title": "Team", "respond": "mention"}
LATE = "Alice is late"


def office(*script: Any, team: dict[str, Any] | None = None) -> World:
    """Alice's direct chat with the agent, and the team of four."""
    world = stage(*script)
    world.known(ALICE, ANN, BEN, CAROL)
    world.chat(ALICE, COACH, **DIRECT)
    world.chat(ALICE, ANN, BEN, CAROL, COACH, **(TEAM | {"visibility": "private"} | (team or {})))
    return world


def tell(world: World, text: str = "Tell the team that I am late", chat_id: str = "chat_1") -> Run:
    """Alice asks for something; the run, once all is quiet."""
    known = {run.id for run in world.runs(chat_id)}
    world.post(text, ALICE, chat_id=chat_id)
    settle(world)
    return next(run for run in world.runs(chat_id) if run.id not in known)


def question(world: World, chat_id: str = "chat_1") -> Message:
    [asked] = [message for message in world.messages(chat_id) if message.kind == "choice"]
    return asked


def choice_of(message: Message) -> Choice:
    assert message.choice is not None
    return message.choice


def answer(world: World, option: str, chat_id: str = "chat_1") -> None:
    given = GivenAnswer(
        tenant=TENANT,
        chat_id=chat_id,
        person_id=ALICE.id,
        seq=question(world, chat_id).seq,
        option=option,
        client_id="answer",
    )
    world.app.get(Answering).answer(given)
    settle(world)
