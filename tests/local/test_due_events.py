"""The events that fire at a later time."""

from datetime import timedelta

from local.timing.due_events import DueEvents
from local.timing.due_index import DueIndex
from skein.models.common.base import rfc3339
from skein.models.common.storage import Key, Put
from skein.models.directory.user import User
from skein.models.outbox.due import DueKind, due_pointer
from tests.support.builders import NOON, TENANT, World, bot, person


def events_of(world: World) -> DueEvents:
    return DueEvents(world.table, DueIndex(world.table))


def due(world: World, kind: DueKind, sk: str, minutes: int, **attributes: str) -> None:
    key = Key("partition", sk)
    pointer = due_pointer(kind, key, NOON + timedelta(minutes=minutes))
    world.table.write(Put(key, {"tenant": TENANT, **attributes, **pointer}))


def test_events_of_all_kinds_are_listed_earliest_first_with_their_names() -> None:
    world = World()
    plan = {"name": "Report", "instruction": "Report the miles."}
    due(world, "plan", "a", 90, id="plan_1", agent_id="agt_a", source_chat_id="chat_4", **plan)
    due(world, "consolidation", "b", 30, chat_id="chat_1")
    due(world, "chat", "c", 60, id="chat_2")
    due(world, "run", "d", 10, id="run_1", agent_id="agt_a", for_chat_id="chat_3")
    found, more = events_of(world).first(10)
    assert not more
    assert [(each["kind"], each["chat_id"]) for each in found] == [
        ("run", "chat_3"),
        ("consolidation", "chat_1"),
        ("chat", "chat_2"),
        ("plan", "chat_4"),
    ]
    assert found[-1] == {
        "kind": "plan",
        "at": rfc3339(NOON + timedelta(minutes=90)),
        "id": "plan_1",
        "tenant": TENANT,
        "agent_id": "agt_a",
        "agent_name": None,
        "chat_id": "chat_4",
        "chat_name": None,
        "user_id": None,
        "user_name": None,
        **plan,
    }


def test_events_name_their_agent_chat_and_person() -> None:
    world = World()
    world.agent(name="Coach")
    world.chat(person(name="Ann"), bot(), title=None)
    due(world, "run", "a", 10, id="run_1", agent_id=bot().id, chat_id="chat_1")
    due(world, "merge", "b", 20, id=person().id, into="usr_b")
    world.table.write(Put(User.key_of(TENANT, person().id), {"name": "Ann Lee"}))
    run, merge = events_of(world).first(2)[0]
    assert (run["agent_name"], run["chat_name"], run["user_name"]) == ("Coach", "Ann, Coach", None)
    assert (merge["user_id"], merge["user_name"]) == (person().id, "Ann Lee")


def test_events_beyond_the_limit_are_omitted_and_counted() -> None:
    world = World()
    for minutes in (3, 1, 2):
        due(world, "plan", f"{minutes}", minutes, id=f"plan_{minutes}")
    found, more = events_of(world).first(2)
    assert [each["id"] for each in found] == ["plan_1", "plan_2"]
    assert more


def test_work_that_a_pause_holds_back_is_not_listed() -> None:
    world = World()
    due(world, "paused_run", "a", 0, id="run_1")
    assert events_of(world).first(5) == ([], False)


def test_run_of_a_new_message_is_an_event() -> None:
    world = World()
    world.chat(person(), bot())
    world.agent()
    world.post("Hi", person())
    listed, _ = events_of(world).first(5)
    assert "run" in {each["kind"] for each in listed}
    assert all(each["tenant"] == TENANT for each in listed)
