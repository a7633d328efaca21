"""Changes of the table that are repeated, late, out of order or lost, and deaths during a batch."""

import random
from collections.abc import Callable

import pytest

import feed as feed_function
from local.events import Event
from skein.errors import Unavailable
from skein.models.chats.chat import Message, chat_partition
from skein.models.common.storage import Item, Key, Query, Update
from skein.recall.models.stored import Posting, RecallPassage
from tests.faults.deployment import FEED_SECONDS, Deployment, Strike, deaths
from tests.support.builders import TENANT, bot, person

LINES = (
    "My flight is LH 442 on Friday.",
    "Zebulon brings the projector.",
    "The budget is 4711 dollars.",
    "Kirsten moved to Oslo.",
)
Disturb = Callable[[list[Event]], list[list[Event]]]


def deployment() -> Deployment:
    world = Deployment()
    world.attach_feed()
    world.agent()
    world.chat(person(), bot(), respond="manual")
    return world


def talk(world: Deployment) -> None:
    """Post messages, then erase one of them and change another."""
    for text in LINES:
        world.post(text, person())
    erased = {"text": "", "kind": "erased"}
    world.table.write(Update(Message.key_of(TENANT, "chat_1", 2), set=erased))
    world.table.write(Update(Message.key_of(TENANT, "chat_1", 3), set={"text": "It is 815."}))


def index(world: Deployment) -> dict[Key, Item]:
    """All items of the index, without what a repeated write may change."""
    pages = [
        world.table.query(Query.under(chat_partition(TENANT, "chat_1"), RecallPassage.PREFIX)),
        world.table.query(Query(Posting.partition_of(TENANT, "agt_a", None))),
    ]
    return {
        Key(item["pk"], item["sk"]): {n: v for n, v in item.items() if n != "version"}
        for page in pages
        for item in page.items
    }


def undisturbed() -> dict[Key, Item]:
    world = deployment()
    talk(world)
    world.live()
    found = index(world)
    assert any("815" in key.sk for key in found)
    assert not any("4711" in key.sk or "zebulon" in key.sk for key in found)
    return found


def shuffled(records: list[Event]) -> list[list[Event]]:
    random.Random(7).shuffle(records)
    return [[record] for record in records]


DISTURBANCES: dict[str, Disturb] = {
    "twice": lambda records: [records, records],
    "one by one": lambda records: [[record] for record in records],
    "backwards": lambda records: [records[::-1]],
    "shuffled": shuffled,
    "late": lambda records: [records[len(records) // 2 :], records[: len(records) // 2]],
}


@pytest.mark.parametrize("name", DISTURBANCES)
def test_repeated_or_late_changes_lead_to_the_same_index(name: str) -> None:
    world = deployment()
    talk(world)
    assert world.feed is not None
    records = world.feed.unread()
    world.feed.lose()
    for batch in DISTURBANCES[name](records):
        world.invoke(feed_function, {"Records": batch}, seconds=FEED_SECONDS)
        world.live()
    assert index(world) == undisturbed()


def test_death_at_any_call_during_a_batch_leads_to_the_same_index() -> None:
    world = deployment()
    talk(world)
    world.fuse.arm(0, after=False)
    world.pump_feed()
    calls = list(world.fuse.calls)
    assert set(calls) == {"queues.send", "table.query"}
    for strike in deaths(calls):
        world = deployment()
        talk(world)
        world.plan(strike)
        world.live()
        assert world.deaths == 1
        assert index(world) == undisturbed()


def test_queue_that_refuses_jobs_leaves_the_changes_unread() -> None:
    world = deployment()
    world.post("My flight is LH 442 on Friday.", person())
    assert world.feed is not None
    unread = world.feed.unread()
    world.plan(Strike(1, after=False, error=Unavailable))
    assert world.pump_feed() == 1
    assert world.feed.unread() == unread
    world.live()
    assert len(index(world)) > 1


def test_message_that_the_table_expires_leaves_the_index() -> None:
    world = deployment()
    world.post("My flight is LH 442 on Friday.", person())
    world.live()
    assert index(world)
    expires_at = int(world.clock.now().timestamp()) + 60
    key = Message.key_of(TENANT, "chat_1", 1)
    world.table.write(Update(key, set={"expires_at": expires_at}))
    world.clock.advance(3_600)
    world.table.delete_expired()
    world.live()
    assert index(world) == {}


def test_agent_that_left_and_joined_again_loses_its_earlier_messages() -> None:
    world = deployment()
    world.post("My flight is LH 442 on Friday.", person())
    world.live()
    assert index(world)
    world.app.chat_admin.remove_member(TENANT, "chat_1", person().ref, bot().ref)
    world.live()
    assert index(world)  # it may come back
    world.app.chat_admin.add_member(TENANT, "chat_1", person(), bot().ref)
    world.live()
    assert index(world) == {}
