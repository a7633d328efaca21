"""Consolidation of direct chats: when they are due, and which sessions ask the model."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from skein.models.chats.chat import Chat
from skein.models.chats.consolidation import Consolidation
from skein.models.common.address import phone_address
from skein.models.common.storage import Key, Put, Update, Write
from skein.models.config.overrides import Overrides, TenantSettings
from skein.models.directory.agent import Agent
from skein.settings import Settings
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.routes import sms_route

HUSAM, COACH = person(), bot()
SCOPE = "user:usr_husam"
MINUTE = 60


def direct(
    *, settings: Settings | None = None, agent: Overrides | None = None, **fields: Any
) -> World:
    """A direct chat of Husam and Coach, in which the agent answers only if asked to."""
    world = World(settings or Settings())
    world.agent(settings=agent or {})
    defaults = {
        "kind": "direct",
        "visibility": "private",
        "consolidate": None,
        "respond": "manual",
    }
    world.chat(HUSAM, COACH, **(defaults | fields))
    return world


def minutes_pass(world: World, minutes: int) -> None:
    """Let minutes go by, with a tick in each and all jobs that it sends."""
    for _ in range(minutes):
        world.clock.advance(MINUTE)
        world.tick()
        world.drain()


def own(consolidate: bool | None) -> Overrides:
    """The overrides of a level that has this value, or none."""
    return {} if consolidate is None else {"consolidate": consolidate}


def tenant_says(world: World, **said: Any) -> None:
    settings = TenantSettings(tenant=TENANT, settings=said, changed_at=NOON)
    world.table.write(Put(settings.key, settings.to_item()))


def due_at(world: World) -> str | None:
    item = world.table.get(Consolidation.key_of(TENANT, "chat_1"))
    return item.get("gsi2sk", "").partition("#")[0] or None if item else None


def due_kind(world: World) -> str:
    item = world.table.get(Consolidation.key_of(TENANT, "chat_1")) or {}
    return str(item["gsi2pk"]).split("#")[1]


def keys_written(world: World) -> list[Key]:
    """A list that grows with the keys of each transaction from now on."""
    transact = world.table.transact
    keys: list[Key] = []

    def recording(writes: Sequence[Write]) -> None:
        keys.extend(write.key for write in writes)
        transact(writes)

    world.table.transact = recording  # type: ignore[method-assign]
    return keys


def asked(world: World) -> list[str]:
    """The transcripts that the model was asked about."""
    return [request.messages[-1].content for request in world.model.memory_requests]


def test_first_text_makes_direct_chat_due_at_five_minutes_after_the_idle_time() -> None:
    world = direct()
    world.clock.advance(2 * MINUTE)
    world.post("My dog is called Rex", HUSAM)
    assert due_at(world) == "2026-02-18T12:35:00.000Z"
    assert due_kind(world) == "direct_consolidation"
    assert world.stored_chat().consolidation_at == NOON + timedelta(minutes=35)


def test_text_at_a_due_time_is_due_exactly_after_the_idle_time() -> None:
    world = direct(settings=Settings(consolidation_idle_seconds=600))
    world.post("My dog is called Rex", HUSAM)
    assert due_at(world) == "2026-02-18T12:10:00.000Z"


def test_later_messages_of_a_session_do_not_write_the_due_pointer() -> None:
    world = direct()
    world.post("Hello", HUSAM)
    written = keys_written(world)
    for number in range(20):
        world.clock.advance(MINUTE)
        world.post(f"Message {number}", HUSAM)
        world.post(f"Answer {number}", COACH)
    assert Chat.key_of(TENANT, "chat_1") in written
    assert Consolidation.key_of(TENANT, "chat_1") not in written
    assert due_at(world) == "2026-02-18T12:30:00.000Z"


def test_idle_direct_chat_is_consolidated_by_the_tick() -> None:
    world = direct()
    world.model.memories.append(json.dumps({"journal": [], "core": ["The dog is called Rex."]}))
    world.post("My dog is called Rex", HUSAM)
    minutes_pass(world, 29)
    assert asked(world) == []
    minutes_pass(world, 1)
    assert [memory.text for memory in world.memories("agt_a", SCOPE)] == ["The dog is called Rex."]
    assert world.membership(COACH).consolidated_seq == 1
    assert due_at(world) is None
    assert world.stored_chat().consolidation_at is None
    minutes_pass(world, 60)
    assert len(asked(world)) == 1


def test_hourly_finder_does_not_find_direct_chats() -> None:
    world = direct()
    world.post("My dog is called Rex", HUSAM)
    world.clock.advance(3_600)
    assert world.find_quiet() == 0
    assert world.tick() == 1


def test_busy_direct_chat_is_due_again_when_it_may_be_idle() -> None:
    world = direct()
    world.post("Hello", HUSAM)
    minutes_pass(world, 22)
    world.post("My dog is called Rex", HUSAM)
    minutes_pass(world, 10)
    assert asked(world) == []
    assert due_at(world) == "2026-02-18T12:55:00.000Z"
    minutes_pass(world, 23)
    assert len(asked(world)) == 1


def test_message_after_a_consolidation_makes_the_chat_due_again() -> None:
    world = direct()
    world.post("My dog is called Rex", HUSAM)
    minutes_pass(world, 35)
    world.post("He is three", HUSAM)
    minutes_pass(world, 35)
    first, second = asked(world)
    assert "Rex" in first
    assert "Rex" not in second
    assert "He is three" in second


def test_agents_message_alone_costs_nothing_and_is_consolidated_with_the_reply() -> None:
    world = direct()
    world.post("My dog is called Rex", HUSAM)
    minutes_pass(world, 35)
    world.post("Shall I remind you on Friday?", COACH)
    assert due_at(world) is None
    minutes_pass(world, 120)
    assert len(asked(world)) == 1
    world.post("Yes", HUSAM)
    minutes_pass(world, 35)
    assert "Shall I remind you on Friday?" in asked(world)[1]


@pytest.mark.parametrize("kind", ["keyword", "notice"])
def test_keyword_and_notice_do_not_make_a_direct_chat_due(kind: str) -> None:
    world = direct()
    world.post("STOP", HUSAM, kind=kind)
    assert due_at(world) is None


def test_consolidation_due_at_stop_waits_until_start() -> None:
    world = direct()
    sms = sms_route(line=LINE, phone=PHONE)
    world.post("My dog is called Rex", HUSAM, route=sms)
    world.post("STOP", HUSAM, kind="keyword", route=sms, opted_out=True)
    minutes_pass(world, 40)
    assert (asked(world), due_at(world)) == ([], None)
    world.post("START", HUSAM, kind="keyword", route=sms, opted_out=False)
    minutes_pass(world, 40)
    assert ["Rex" in question for question in asked(world)] == [True]
    assert due_at(world) is None


def test_consolidation_requested_after_stop_is_carried_out() -> None:
    world = direct()
    sms = sms_route(line=LINE, phone=PHONE)
    world.post("My dog is called Rex", HUSAM, route=sms)
    world.post("STOP", HUSAM, kind="keyword", route=sms, opted_out=True)
    world.app.consolidation_requests.request(TENANT, "chat_1")
    world.drain()
    assert len(asked(world)) == 1


def test_reset_alone_does_not_make_a_direct_chat_due() -> None:
    world = direct()
    world.post("start over", HUSAM)
    assert due_at(world) is None
    assert world.stored_chat().person_seq == 0


def test_agents_message_during_a_consolidation_leaves_nothing_due() -> None:
    world = direct()

    def interrupted(_: object) -> str:
        world.post("Your appointment is at nine", COACH)
        return json.dumps({"journal": [], "core": []})

    world.model.memories.append(interrupted)
    world.post("My dog is called Rex", HUSAM)
    minutes_pass(world, 35)
    assert world.membership(COACH).consolidated_seq == 1
    assert due_at(world) is None


def test_requested_consolidation_without_new_text_of_a_person_asks_no_model() -> None:
    world = direct()
    world.post("My dog is called Rex", HUSAM)
    minutes_pass(world, 35)
    world.post("Your appointment is at nine", COACH)
    world.app.consolidation_requests.request(TENANT, "chat_1")
    world.drain()
    assert len(asked(world)) == 1
    assert world.membership(COACH).consolidated_seq == 2
    assert due_at(world) is None


def test_failed_attempt_is_retried_at_the_next_full_hour() -> None:
    world = direct()
    world.model.memories.append("no JSON")
    world.post("My dog is called Rex", HUSAM)
    minutes_pass(world, 35)
    assert due_at(world) == "2026-02-18T13:00:00.000Z"
    minutes_pass(world, 30)
    assert len(asked(world)) == 2
    assert due_at(world) is None


# ---------------------------------------------------------------------- who decides


@pytest.mark.parametrize(
    ("chat", "agent", "tenant", "environment", "consolidated"),
    [
        (None, None, None, True, True),
        (None, None, None, False, False),
        (None, None, False, True, False),
        (None, None, True, False, True),
        (None, False, True, True, False),
        (None, True, False, False, True),
        (False, True, True, True, False),
        (True, False, False, False, True),
    ],
)
@pytest.mark.parametrize("kind", ["direct", "group"])
def test_nearest_value_decides_whether_a_chat_is_consolidated(
    kind: str,
    chat: bool | None,
    agent: bool | None,
    tenant: bool | None,
    environment: bool,
    consolidated: bool,
) -> None:
    world = direct(
        settings=Settings(consolidate=environment, consolidation_idle_seconds=60),
        agent=own(agent),
        kind=kind,
        consolidate=chat,
    )
    tenant_says(world, **own(tenant))
    world.post("My dog is called Rex", HUSAM)
    world.hours_pass(1)
    minutes_pass(world, 1)
    assert bool(asked(world)) is consolidated
    assert due_at(world) is None


def test_lines_value_counts_between_the_agents_and_the_tenants() -> None:
    for said, agent, consolidated in (
        (False, None, False),
        (False, True, True),
        (None, None, True),
    ):
        world = direct(agent=own(agent), line=phone_address("+15005550006"))
        line = world.line()
        world.table.write(Update(line.key, set={"settings": own(said)}))
        tenant_says(world, consolidate=True)
        world.post("My dog is called Rex", HUSAM)
        minutes_pass(world, 35)
        assert bool(asked(world)) is consolidated


def test_group_is_consolidated_for_the_agents_that_want_it() -> None:
    world = World()
    analyst = bot("agt_b", "Analyst")
    world.agent(settings={"consolidate": False})
    world.agent(analyst.id, analyst.name)
    world.chat(HUSAM, COACH, analyst, respond="manual", consolidate=None)
    world.post("My dog is called Rex", HUSAM)
    world.hours_pass(7)
    assert len(asked(world)) == 1
    assert world.membership(COACH).consolidated_seq == 0
    assert world.membership(analyst).consolidated_seq == 1
    assert due_at(world) is None


def test_agent_switched_off_after_the_message_is_not_consolidated() -> None:
    world = direct()
    world.post("My dog is called Rex", HUSAM)
    said = {"consolidate": False}
    world.table.write(Update(Agent.key_of(TENANT, "agt_a"), set={"settings": said}))
    minutes_pass(world, 35)
    assert asked(world) == []
    assert due_at(world) is None


def test_agent_switched_on_later_consolidates_earlier_messages_too() -> None:
    world = direct(agent={"consolidate": False})
    world.post("My dog is called Rex", HUSAM)
    assert due_at(world) is None
    said = {"consolidate": True}
    world.table.write(Update(Agent.key_of(TENANT, "agt_a"), set={"settings": said}))
    world.post("He is three", HUSAM)
    minutes_pass(world, 35)
    assert "Rex" in asked(world)[0]
