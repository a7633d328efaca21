"""The sweep finds messages that the feed has lost, and sends no job without need."""

from datetime import timedelta

import pytest

from skein.models.chats.chat import Message, chat_partition
from skein.models.common.storage import Delete, Query, Update
from skein.models.outbox.jobs import RecallJob, UpkeepJob
from skein.recall.models.stored import RecallPassage
from skein.recall.sweep import NEWEST, RecallSweep
from skein.settings import Settings
from tests.support.builders import TENANT, World, bot, person

LATER = timedelta(minutes=6)


@pytest.fixture
def world() -> World:
    world = World()
    world.attach_feed()
    world.agent()
    world.chat(person(), bot(), respond="manual")
    return world


def say(world: World, count: int, *, lost: bool = False) -> None:
    """Post messages, which are indexed unless the feed loses them."""
    for number in range(count):
        world.post(f"Message {number}", person())
    assert world.feed is not None
    if lost:
        world.feed.lose()
    world.drain()
    world.clock.advance(LATER.total_seconds())


def found(world: World, **settings: bool) -> list[RecallJob]:
    """The jobs that the sweep sends."""
    sweep = RecallSweep(
        table=world.table,
        clock=world.clock,
        dispatch=world.app.upkeep.dispatch,
        settings=Settings.model_validate(settings),
    )
    before = len(world.queues.sent)
    chat = world.stored_chat()
    sweep.check(chat, [world.membership(person()), world.membership(bot())])
    jobs = [waiting.job for waiting in world.queues.sent[before:]]
    assert all(isinstance(job, RecallJob) for job in jobs)
    return [job for job in jobs if isinstance(job, RecallJob)]


def indexed(world: World) -> list[int]:
    query = Query.under(chat_partition(TENANT, "chat_1"), RecallPassage.PREFIX)
    items = world.table.query(query).items
    return [RecallPassage.from_item(item).seq for item in items]


def job(first_seq: int) -> RecallJob:
    return RecallJob(tenant=TENANT, chat_id="chat_1", agent_id="agt_a", first_seq=first_seq)


def test_chat_that_is_indexed_needs_no_job(world: World) -> None:
    say(world, 20)
    assert indexed(world) == list(range(1, 21))
    assert found(world) == []


def test_without_recall_lost_messages_stay_lost(world: World) -> None:
    say(world, 3, lost=True)
    assert found(world, recall=False) == []
    assert len(found(world)) == 1


def test_lost_messages_are_indexed_after_the_newest_indexed_one(world: World) -> None:
    say(world, 10)
    say(world, 12, lost=True)
    assert found(world) == [job(11)]
    world.drain()
    assert indexed(world) == list(range(1, 23))
    assert found(world) == []


def test_chat_without_any_passage_is_indexed_from_the_joining_of_the_agent(world: World) -> None:
    say(world, 3, lost=True)
    assert found(world) == [job(1)]


def test_messages_of_the_last_minutes_are_left_to_the_feed(world: World) -> None:
    say(world, 1)
    world.post("Just now", person())
    assert found(world) == []


def test_notices_and_erased_messages_are_not_missed(world: World) -> None:
    say(world, 2)
    world.post("A notice", person())
    key = Message.key_of(TENANT, "chat_1", 3)
    world.table.write(Update(key, set={"kind": "erased", "text": ""}))
    world.drain()
    world.clock.advance(LATER.total_seconds())
    assert found(world) == []


def test_only_the_agent_whose_passage_is_missing_gets_a_job(world: World) -> None:
    say(world, 2)
    world.table.write(Delete(RecallPassage.key_of(TENANT, "chat_1", "agt_a", 2)))
    assert found(world) == [job(2)]


def test_sweep_reads_as_much_in_a_long_chat_as_in_a_short_one(world: World) -> None:
    say(world, NEWEST + 40)
    world.table.log.clear()
    assert found(world) == []
    calls = [call.method for call in world.table.log]
    assert calls.count("query") == 1
    assert not {"write", "transact"} & set(calls)


def test_first_upkeep_of_an_hour_finds_lost_messages(world: World) -> None:
    say(world, 3, lost=True)
    world.clock.advance(3_600)
    world.post("An hour later", person())
    assert world.feed is not None
    world.feed.lose()
    world.app.upkeep.keep(UpkeepJob(tenant=TENANT, chat_id="chat_1"))
    world.drain()
    assert indexed(world) == [1, 2, 3, 4]


def test_end_of_a_consolidation_finds_lost_messages() -> None:
    world = World()
    world.attach_feed()
    world.agent()
    world.chat(person(), bot(), respond="manual", consolidate=True)
    say(world, 3, lost=True)
    world.hours_pass(8)
    assert indexed(world) == [1, 2, 3]


def test_deleted_agent_needs_no_job(world: World) -> None:
    say(world, 3, lost=True)
    assert found(world)
    world.app.agents.delete(TENANT, "agt_a")
    assert found(world) == []
