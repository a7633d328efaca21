"""Choices in the chat `chat_1` of a world: ask one, answer it, and look at what is open."""

from collections.abc import Callable
from typing import Any

from skein.models.chats.choice import NO, YES, Choice, Destination, Option, Proposal
from skein.models.chats.consent import ConsentData
from skein.models.chats.person_choices import PersonChoices
from skein.models.common.base import NamedMember
from skein.models.visibility.audience import OPEN
from skein.services.chat_state.person_choices import read_choices
from skein.services.chats.post_message import PostedMessage
from skein.services.choices.answering import Answering
from skein.services.choices.asking import Asking, NewChoice
from skein.services.choices.effect import GivenAnswer
from tests.support.builders import TENANT, World, bot, person

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")
COACH = bot()
POST = ConsentData(
    proposal=Proposal(
        agent_id=COACH.id,
        text="I am late",
        destinations=(Destination(chat_id="chat_1", title="Chat", readers=OPEN),),
    )
).attributes()
YES_NO = (Option(id=YES, label="Yes"), Option(id=NO, label="No"))


def direct_world() -> World:
    """Husam alone with the agent Coach."""
    world = World()
    world.agent()
    world.known(HUSAM)
    world.chat(HUSAM, COACH, kind="direct", visibility="private", title=None)
    return world


def ask(
    world: World, who: NamedMember = HUSAM, *, client_id: str = "ask", **fields: Any
) -> PostedMessage:
    """Ask whether to book; `fields` change the choice."""
    given: dict[str, Any] = {
        "tenant": TENANT,
        "chat_id": "chat_1",
        "agent": COACH.ref,
        "client_id": client_id,
        "addressee": who.id,
        "question": "Shall I book it?",
        "options": YES_NO,
    }
    return world.app.get(Asking).ask(NewChoice(**(given | fields)))


def given(seq: int, who: NamedMember = HUSAM, **fields: Any) -> GivenAnswer:
    """Answer yes; `fields` change the answer."""
    return GivenAnswer(
        tenant=TENANT,
        chat_id=fields.pop("chat_id", "chat_1"),
        person_id=who.id,
        seq=seq,
        client_id=fields.pop("client_id", "answer-1"),
        **(fields or {"option": YES}),
    )


def answer(world: World, seq: int, who: NamedMember = HUSAM, **fields: Any) -> PostedMessage:
    """Answer a choice, yes unless `fields` say otherwise."""
    return world.app.get(Answering).answer(given(seq, who, **fields))


def choices_of(world: World, who: NamedMember = HUSAM) -> PersonChoices:
    """The choices of a person as of now."""
    return read_choices(world.table, TENANT, who.id, world.clock.now())


def choice_in(world: World, seq: int, chat_id: str = "chat_1") -> Choice:
    """The choice of a message."""
    choice = world.messages(chat_id)[seq - 1].choice
    assert choice is not None
    return choice


def interrupted(world: World, by: Callable[[], object]) -> None:
    """Play `by` right before the next transaction of the table."""
    transact = world.table.transact

    def once(writes: Any) -> None:
        world.table.transact = transact  # type: ignore[method-assign]
        by()
        transact(writes)

    world.table.transact = once  # type: ignore[method-assign]
