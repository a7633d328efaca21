"""Consolidating much takes little: tokens are counted once, and memory does not grow."""

import tracemalloc
from collections.abc import Iterator

import pytest

from skein.interface.names import Names
from skein.memory.chunking import HistoryPosition, chunks
from skein.memory.transcript import line
from skein.models.chats.chat import Message
from skein.models.common.storage import Put
from skein.models.runs.completion import ModelRequest
from skein.services.common.schedule import zone_of
from tests.support.builders import NOON, TENANT, World, bot, person, tokens
from tests.support.fakes import NOTHING_TO_REMEMBER

HUSAM, COACH = person(), bot()
WORDS = "the quarterly report says that revenue grew by twelve percent in Berlin and in Lyon"
BERLIN = zone_of("Europe/Berlin")
NAMES = Names(None, {})


def message(seq: int, text: str) -> Message:
    return Message(
        tenant=TENANT,
        chat_id="chat_1",
        id=f"msg_{seq}",
        seq=seq,
        text=text,
        sender=HUSAM,
        client_id=str(seq),
        created_at=NOON,
    )


def talk(count: int) -> Iterator[Message]:
    """Messages of about 200 tokens, no two alike."""
    for seq in range(1, count + 1):
        yield message(seq, f"{seq}: " + f"{WORDS} {seq}. " * 10)


class Counting:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, said: Message, start: int, end: int) -> int:
        self.asked += 1
        return tokens().count(f"{line(said, NAMES, BERLIN, start=start, end=end)}\n")


def cut(count: int) -> tuple[int, int, int]:
    """Cut a talk into chunks; returns the tokens, the chunks and how many counts it took."""
    measure, size, number = Counting(), 0, 0
    for chunk in chunks(
        talk(count),
        since=HistoryPosition(0),
        until=count,
        measure=measure,
        limit=100_000,
        longest=100_000,
    ):
        assert chunk.tokens <= 100_000
        size += chunk.tokens
        number += 1
    return size, number, measure.asked


def test_each_message_is_counted_once() -> None:
    size, number, asked = cut(1_000)
    assert asked == 1_000
    assert size > 200_000
    assert number == size // 100_000 + 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_million_tokens_take_less_than_300_megabytes() -> None:
    tokens().count("warm")
    tracemalloc.start()
    try:
        size, _, _ = cut(4_700)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size > 1_000_000
    assert peak < 30_000_000  # beside the tokenizer's own 80 MB


def long_chat(count: int) -> World:
    """A quiet chat of `count` short messages."""
    world = World()
    world.agent()
    world.chat(HUSAM, COACH, respond="manual", consolidate=True)
    for seq in range(1, count):
        said = message(seq, f"fact {seq}")
        world.table.write(Put(said.key, said.to_item()))
    chat = world.stored_chat().model_copy(update={"last_seq": count - 1})
    world.table.write(Put(chat.key, chat.to_item()))
    world.post("The end", HUSAM)
    world.drain()
    return world


def consolidate(world: World) -> None:
    """Consolidate such a chat, keeping neither what the model was asked nor the table's log."""

    def listen(_: ModelRequest) -> str:
        world.model.memory_requests.clear()
        world.table.log.clear()
        return NOTHING_TO_REMEMBER

    world.model.memories.extend([listen] * 100)
    world.clock.advance(7 * 3_600)
    world.find_quiet()
    world.run_ready()


def peak_of(count: int) -> int:
    """The most memory that it takes at any time to consolidate so many messages."""
    world = long_chat(count)
    tracemalloc.start()
    try:
        consolidate(world)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_chat_is_read_in_pages() -> None:
    world = long_chat(450)
    world.table.log = []
    consolidate(world)
    pages = [call for call in world.table.log if call.method == "query"]
    # The recall sweep finds that nothing is indexed, so the chat is read a second time.
    assert len(pages) < 2 * 450 / 100 + 10
    assert world.membership(COACH).consolidated_seq == 450


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_chat_of_a_hundred_thousand_messages_is_consolidated_to_its_end() -> None:
    world = long_chat(100_000)
    consolidate(world)
    assert world.membership(COACH).consolidated_seq == 100_000
    records = world.consolidations()
    assert sum(record.messages for record in records) == 100_000
    assert [record.from_seq for record in records[1:]] == [r.to_seq + 1 for r in records[:-1]]
    assert world.stored_chat().consolidation_at is None


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_memory_does_not_grow_with_the_length_of_a_chat() -> None:
    small, large = peak_of(5_000), peak_of(20_000)
    assert large < 1.3 * small
    assert large < 100_000_000
