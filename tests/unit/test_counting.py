"""Token counts that are remembered."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from skein.agent.counting import ENTRY_BYTES, RememberedTokens
from tests.builders import World, bot, person, tokens

MESSAGE = "How far shall I run today, and how fast?"


@dataclass
class Counted:
    """Counts by length, and how often it was asked."""

    asked: list[str] = field(default_factory=list)

    def count(self, text: str) -> int:
        self.asked.append(text)
        return 1_000 + len(text)

    def cut(self, text: str, tokens: int) -> str:
        return text[:tokens]


@given(
    st.lists(st.sampled_from(["", "a", "b", "a b", "é", "日本"]), max_size=30), st.integers(0, 4)
)
def test_a_remembered_count_is_the_count(texts: list[str], room: int) -> None:
    remembered = RememberedTokens(tokens(), room * ENTRY_BYTES)
    assert [remembered.count(text) for text in texts] == [tokens().count(text) for text in texts]


def test_a_text_is_counted_once_while_it_is_among_those_asked_for_last() -> None:
    counter = Counted()
    remembered = RememberedTokens(counter, 2 * ENTRY_BYTES)
    for text in ("one", "two", "one", "one", "three", "one", "two"):
        assert remembered.count(text) == 1_000 + len(text)
    assert counter.asked == ["one", "two", "three", "two"]


def test_what_is_remembered_stays_within_its_memory() -> None:
    limit = 8_000_000
    tracemalloc.start()
    remembered = RememberedTokens(Counted(), limit)
    try:
        for n in range(3 * limit // ENTRY_BYTES):
            remembered.count(f"{n} " * 100)
            if n % 1_000 == 0:
                remembered._counter.asked.clear()  # type: ignore[attr-defined]
        gc.collect()
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert limit / 2 < now <= limit
    assert peak <= limit * 1.1


def test_several_threads_may_count_at_once() -> None:
    remembered = RememberedTokens(Counted(), 50 * ENTRY_BYTES)
    texts = [str(n % 100) * (n % 7) for n in range(20_000)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(remembered.count, texts)) == [1_000 + len(text) for text in texts]


def test_without_memory_every_text_is_counted_anew() -> None:
    counter = Counted()
    remembered = RememberedTokens(counter, 0)
    assert remembered.count("one") == remembered.count("one") == 1_003
    assert counter.asked == ["one", "one"]


def test_the_next_prompt_counts_only_what_is_new() -> None:
    counter = Counted()
    world = World(overrides={"tokens": counter})
    world.agent(history_format="timeline")
    world.chat(person(), bot())
    for n in range(20):
        world.post(f"{MESSAGE} {n}", person())
        world.drain()
    counter.asked.clear()
    world.post(f"{MESSAGE} 20", person())
    world.drain()
    again = [text for text in counter.asked if text.startswith("  [msg:")]
    # The question and its mark that flipped, the answer, the new question; some as the last line.
    assert len(again) <= 6
