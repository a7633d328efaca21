"""The context of a prompt contains only what all current readers may be shown."""

from typing import Any

import pytest

from skein.agent.sections.trigger import ShownTrigger
from skein.agent.sections.your_chats import YourChats
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.memory.sections import Memories
from skein.models.chats.summary import Summary
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put
from skein.models.runs.run import Run
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.workspace.sections.threads import Threads
from tests.support.agents import asked_by_service
from tests.support.builders import NOON, TENANT, World, bot, person

HUSAM, ANN, COACH = person(), person("usr_ann", "Ann"), bot()
FOR_HUSAM = Audience(open=False, people=(HUSAM.id,))
MADE_HERE = Owner(tenant=TENANT, agent_id=COACH.id, scope="chat:chat_1", audience=FOR_HUSAM)


def private(*people: NamedMember, **fields: Any) -> World:
    """A private group in which Husam and the agent have been from the beginning."""
    world = World()
    world.agent()
    late = {f"user#{ANN.id}": 1} if ANN in people else {}
    world.chat(*people, COACH, visibility="private", respond="manual", joined_late=late, **fields)
    world.post("The word is mango", HUSAM)
    return world


def read(world: World, run: Run, chat_id: str) -> Reading:
    return world.app.reader.read(run, world.stored_chat(chat_id), world.membership(COACH, chat_id))


def read_there(world: World, **fields: Any) -> Reading:
    values = {"chat_id": "chat_1", "trigger": Trigger(type="manual")} | fields
    run = Run(tenant=TENANT, id="run_1_chat_1", agent_id=COACH.id, created_at=NOON, **values)
    return read(world, run, "chat_1")


@pytest.mark.parametrize("people", [(HUSAM,), (HUSAM, ANN)])
def test_items_made_before_join_are_not_read_for_the_new_member(
    people: tuple[NamedMember, ...],
) -> None:
    shown = ANN not in people
    summary = Summary(text="Mango.", from_seq=1, seq=1, audience=FOR_HUSAM, at=NOON)
    world = private(*people, summary=summary)
    world.app.memories.add(MADE_HERE, "The word is mango", "core", made_by="tool")
    world.app.threads.create(MADE_HERE, {"concern": "Mango"})
    asked_by_service(world, audience=FOR_HUSAM)
    reading = read_there(world)
    assert bool(reading.of(Memories).memories) is shown
    assert bool(reading.of(Threads).pending) is shown
    assert (reading.of(History).fuller is not None) is shown
    assert bool(reading.of(YourChats).live_runs) is shown


@pytest.mark.parametrize("may_be_shown", [True, False])
def test_origin_of_a_resumed_run_is_read_only_where_it_may_be_shown(*, may_be_shown: bool) -> None:
    world = private(HUSAM)
    world.chat(
        HUSAM, *([] if may_be_shown else [ANN]), COACH, chat_id="chat_2", visibility="private"
    )
    run = Run(
        tenant=TENANT,
        id="run_1_chat_1",
        agent_id=COACH.id,
        chat_id="chat_1",
        trigger=Trigger(type="chat_message", seq=1, from_seq=1, by=HUSAM.ref),
        audience=FOR_HUSAM,
        active_chat_id="chat_2",
        created_at=NOON,
    )
    world.table.write(Put(run.key, run.to_item(NOON)))
    reading = read(world, run, "chat_2")
    assert reading.of(ShownTrigger).may_be_shown is may_be_shown
    assert (
        reading.of(ShownTrigger).home is not None,
        reading.of(ShownTrigger).message is not None,
    ) == (
        may_be_shown,
        may_be_shown,
    )


@pytest.mark.parametrize(("there", "title"), [(True, "Of now"), (False, "a conversation")])
def test_title_of_home_is_read_for_its_current_members(*, there: bool, title: str) -> None:
    """Ann was asked as well, but may have left before the chat got its title."""
    both = Audience(open=False, people=(ANN.id, HUSAM.id))
    world = World()
    world.agent()
    people = (HUSAM, ANN) if there else (HUSAM,)
    world.chat(*people, COACH, visibility="private", respond="manual", title="Of now")
    world.chat(HUSAM, ANN, COACH, chat_id="chat_2", visibility="private")
    world.post("Ask Ann", HUSAM)
    run = Run(
        tenant=TENANT,
        id="run_1_chat_1",
        agent_id=COACH.id,
        chat_id="chat_1",
        trigger=Trigger(type="chat_message", seq=1, from_seq=1, by=HUSAM.ref),
        audience=both,
        active_chat_id="chat_2",
        created_at=NOON,
    )
    home = read(world, run, "chat_2").of(ShownTrigger).home
    assert home is not None
    assert home.title == title
