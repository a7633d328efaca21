"""The context cache of a container: never stale, effective, and bounded in size."""

import random
import tracemalloc

import pytest

from skein.agent.reading.cache import ContextCache
from skein.agent.reading.guarded_reads import GuardedReads
from skein.agent.reading.reader import Reader
from skein.interface.history import History
from skein.interface.reading import Reading
from skein.memory.sections import Memories
from skein.models.chats.chat import Message
from skein.models.common.storage import Page, Query, Update
from skein.models.runs.run import Run, run_id_in
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner, Reach
from skein.settings import Settings
from tests.fakes.system import MemoryMetrics
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.choices import answer, ask, choice_in

HUSAM, COACH = person(), bot()
LARGE = 300_000  # bytes
PRIVATE = Audience(open=False, people=("usr_husam",))
REACH = Reach(tenant=TENANT, agent_id="agt_a")


class Container:
    """One of several that read from the same table."""

    def __init__(self, world: World, *, max_bytes: int = 64_000_000) -> None:
        self.world = world
        self.metrics = MemoryMetrics()
        self.cache = ContextCache(clock=world.clock, metrics=self.metrics, max_bytes=max_bytes)
        self.reader = Reader(
            table=GuardedReads(table=world.table, clock=world.clock, metrics=self.metrics),
            cache=self.cache,
            clock=world.clock,
            settings=world.settings,
            services=world.app,
            parallel_map=world.app.ports.parallel_map,
        )

    def read(self, chat_id: str = "chat_1") -> Reading:
        chat, member = self.world.stored_chat(chat_id), self.world.membership(COACH, chat_id)
        run = Run(
            tenant=TENANT,
            id=run_id_in(chat_id, "01J00000000000000000000000"),
            agent_id="agt_a",
            chat_id=chat_id,
            trigger=Trigger(type="chat_message", seq=chat.last_seq, from_seq=chat.last_seq),
            audience=chat.readers,
            created_at=NOON,
        )
        return self.reader.read(run, chat, member)

    @property
    def hit_rate(self) -> float:
        hits = self.metrics.counts["ContextCacheHits"]
        return hits / (hits + self.metrics.counts["ContextCacheMisses"])


def talking(settings: Settings | None = None) -> World:
    """An agent in a group and in a direct chat, with a few words in each."""
    world = World(settings or Settings())
    world.agent()
    world.chat(HUSAM, COACH, respond="manual")
    direct = {"kind": "direct", "visibility": "private", "respond": "manual"}
    world.chat(HUSAM, COACH, chat_id="chat_2", **direct)
    for chat_id in ("chat_1", "chat_2"):
        world.post("Hello", HUSAM, chat_id=chat_id)
    return world


def owner(audience: Audience) -> Owner:
    scope = None if audience.open else "user:usr_husam"
    return Owner(tenant=TENANT, agent_id="agt_a", scope=scope, audience=audience)


def learn(world: World, text: str, audience: Audience = OPEN) -> str:
    return world.app.memories.add(owner(audience), text, "core", made_by="api").memory.id


def shown(reading: Reading) -> Reading:
    """What counts of a reading; two at the same time are equal in it."""
    memories = sorted(reading.of(Memories).memories, key=lambda memory: memory.id)
    return reading.having(Memories(tuple(memories)))


# ---------------------------------------------------------------------- never stale


def test_another_containers_change_is_seen_at_the_next_turn() -> None:
    world = talking()
    first, second = Container(world), Container(world)
    for container in (first, second):
        container.read()
    memory_id = learn(world, "Ana runs")
    assert [m.text for m in first.read().of(Memories).memories] == ["Ana runs"]
    world.app.memories.delete(REACH, memory_id)
    assert first.read().of(Memories).memories == second.read().of(Memories).memories == ()


def test_write_during_reading_is_in_the_next_reading() -> None:
    """The revision is read before the memories, so that nothing newer hides behind it."""
    world = talking()
    container = Container(world)
    ask = world.table.query
    learned = False

    def meanwhile(query: Query) -> Page:
        nonlocal learned
        page = ask(query)
        if query.pk.endswith("AGENT#agt_a") and not learned:
            learned = True
            learn(world, "Ana runs")
        return page

    world.table.query = meanwhile  # type: ignore[method-assign]
    container.read()
    assert [m.text for m in container.read().of(Memories).memories] == ["Ana runs"]


def test_answered_question_is_not_shown_as_open() -> None:
    world = talking()
    container = Container(world)
    ask(world)
    container.read()
    answer(world, 2)
    messages = container.read().of(History).messages
    assert [message.choice is not None and message.choice.answer for message in messages] == [
        False,
        choice_in(world, 2).answer,
        False,
    ]


def test_messages_are_read_on_from_the_newest_that_is_known() -> None:
    world = talking()
    container = Container(world)
    for number in range(60):
        world.post(f"word {number}", HUSAM)
    container.read()
    world.post("and one more", HUSAM)
    world.table.log.clear()
    reading = container.read()
    assert [m.seq for m in reading.of(History).messages] == list(
        range(reading.of(History).messages[0].seq, 63)
    )
    assert reading.of(History).messages[-1].text == "and one more"
    assert [m.seq for m in reading.of(History).messages] == [
        m.seq for m in Container(world).read().of(History).messages
    ]


def test_messages_before_reset_stay_hidden_after_further_reads() -> None:
    """Another container has seen it; this one knows a message from long before."""
    world = talking()
    container = Container(world)
    container.read("chat_2")
    for text in ("my secret", "reset", "and now?"):
        world.post(text, HUSAM, chat_id="chat_2")
    reading = container.read("chat_2")
    assert [m.text for m in reading.of(History).messages] == ["reset", "and now?"]
    assert shown(reading) == shown(Container(world).read("chat_2"))


def test_erasure_invalidates_the_whole_cache() -> None:
    world = talking()
    container = Container(world)
    container.read()
    key = Message.key_of(TENANT, "chat_1", 1)
    world.table.write(Update(key, set={"text": "[erased]"}))
    world.table.write(Update(world.stored_chat().key, add={"epoch": 1, "version": 1}))
    assert [m.text for m in container.read().of(History).messages] == ["[erased]"]


@pytest.mark.parametrize("rounds", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_two_containers_never_read_stale_data(rounds: int) -> None:
    chance = random.Random(11)
    world = talking()
    containers = [Container(world), Container(world)]
    known: list[tuple[Reach, str]] = []

    def say() -> None:
        world.post(f"word {world.ids.ulid()}", HUSAM, chat_id=chance.choice(["chat_1", "chat_2"]))

    def remember() -> None:
        audience = chance.choice([OPEN, PRIVATE])
        memory_id = learn(world, f"fact {world.ids.ulid()}", audience)
        known.append((REACH.model_copy(update={"scopes": (owner(audience).scope,)}), memory_id))

    def forget() -> None:
        if known:
            world.app.memories.delete(*known.pop(chance.randrange(len(known))))

    def wait() -> None:
        world.clock.advance(chance.choice([1, 60, 400]))

    def rename() -> None:
        world.agent(name=f"Coach {world.ids.ulid()}")

    for _ in range(rounds):
        chance.choice([say, say, say, remember, forget, wait, rename])()
        chat_id = chance.choice(["chat_1", "chat_2"])
        reading = chance.choice(containers).read(chat_id)
        assert shown(reading) == shown(Container(world).read(chat_id))


# ---------------------------------------------------------------------- worth its while


def test_cache_hit_rate_in_a_conversation_exceeds_90_percent() -> None:
    world = talking()
    for number in range(20):
        learn(world, f"fact {number}")
    container = Container(world)
    for number in range(20):
        world.post(f"word {number}", HUSAM, chat_id="chat_2")
        world.clock.advance(20)
        container.read("chat_2")
    assert container.hit_rate > 0.9


def test_hits_and_misses_are_counted() -> None:
    world = talking()
    container = Container(world)
    container.read("chat_2")
    first = {"ContextCacheMisses": 3, "ContextCacheAbsent": 3}
    assert container.metrics.counts == first
    container.read("chat_2")
    assert container.metrics.counts == {**first, "ContextCacheHits": 3}


def test_changed_memories_are_a_miss_of_a_part_that_was_cached() -> None:
    world = talking()
    container = Container(world)
    container.read("chat_2")
    learn(world, "a new fact")
    container.read("chat_2")
    counts = {"ContextCacheMisses": 4, "ContextCacheAbsent": 3, "ContextCacheHits": 2}
    assert container.metrics.counts == counts


def test_a_chat_of_twelve_turns_in_one_container_misses_only_its_first_reads() -> None:
    world = talking()
    container = Container(world)
    for number in range(12):
        world.post(f"word {number}", HUSAM, chat_id="chat_2")
        world.clock.advance(20)
        container.read("chat_2")
    counts = {"ContextCacheMisses": 3, "ContextCacheAbsent": 3, "ContextCacheHits": 33}
    assert container.metrics.counts == counts


def test_cached_items_are_not_transferred_again() -> None:
    world = talking()
    for number in range(30):
        learn(world, f"fact {number} " + "x" * 500)
    container = Container(world)
    container.read()

    def rows(reading: Container) -> int:
        count = 0
        ask = MemoryTable.query

        def counting(query: Query) -> Page:
            nonlocal count
            page = ask(world.table, query)
            count += len(page.items) if query.index is None else 0
            return page

        world.table.query = counting  # type: ignore[method-assign]
        reading.read()
        return count

    assert rows(container) == 2  # the agent and the revision
    assert rows(Container(world)) == 33


# ---------------------------------------------------------------------- bounded


def test_cached_items_expire() -> None:
    world = talking()
    container = Container(world)
    container.read()
    assert container.cache.size > 0
    world.clock.advance(300)
    assert container.cache.get(f"messages|{TENANT}#CHAT#chat_1") is None


def test_cache_without_seconds_stays_empty() -> None:
    world = talking(settings=Settings(context_cache_seconds=0))
    container = Container(world)
    container.read()
    container.read()
    assert container.cache.size == 0


def test_cache_keeps_items_for_the_seconds_of_the_setting() -> None:
    world = talking(settings=Settings(context_cache_seconds=1_000))
    container = Container(world)
    container.read()
    world.clock.advance(900)
    container.read()
    assert container.metrics.counts["ContextCacheHits"] == 2


def test_the_cache_never_takes_more_than_it_may() -> None:
    world = talking()
    containers = {most: Container(world, max_bytes=most) for most in (0, 100, 10_000)}
    for number in range(25):
        learn(world, f"fact {number} " + "x" * 300)
        world.post("word " * 20, HUSAM)
        for most, container in containers.items():
            container.read()
            assert container.cache.size <= most


def test_estimated_size_of_the_cache_matches_the_memory() -> None:
    world = World()
    cache = ContextCache(clock=world.clock, metrics=world.metrics, max_bytes=LARGE)
    items = [
        {"pk": f"acme#CHAT#{n}", "sk": "MSG#1", "text": "x" * 150, "seq": n} for n in range(50)
    ]
    tracemalloc.start()
    try:
        for number in range(90):
            cache.put(f"messages|chat_{number}", 0, items, seconds=300)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert cache.size <= LARGE
    assert taken <= 1.1 * LARGE


def test_cached_items_are_immutable() -> None:
    world = World()
    cache = ContextCache(clock=world.clock, metrics=world.metrics, max_bytes=1_000_000)
    cache.put("name", 1, [{"a": ["b"]}], seconds=60)
    entry = cache.get("name")
    assert entry is not None
    entry.read()[0]["a"].append("c")
    assert entry.read() == [{"a": ["b"]}]
