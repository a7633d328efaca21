"""Token counts that are remembered."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from skein.services.common.token_cache import ENTRY_BYTES, RememberedTokens
from tests.support.builders import TENANT, World, bot, person, tokens

MESSAGE = "How far shall I run today, and how fast?"


@dataclass
class CounterWrites:
    """Counts by length, and how often it was asked."""

    asked: list[str] = field(default_factory=list)
    encoding: str = "by length"
    cuts: list[int] = field(default_factory=list)

    def for_model(self, model: str) -> "CounterWrites":
        return self if model == "length" else CounterWrites(self.asked, model)

    def count(self, text: str) -> int:
        self.asked.append(text)
        return 1_000 + len(text)

    def cut(self, text: str, tokens: int) -> str:
        self.cuts.append(tokens)
        return text[:tokens]


@given(
    st.lists(st.sampled_from(["", "a", "b", "a b", "é", "日本"]), max_size=30), st.integers(0, 4)
)
def test_a_remembered_count_is_the_count(texts: list[str], room: int) -> None:
    remembered = RememberedTokens(tokens(), room * ENTRY_BYTES)
    assert [remembered.count(text) for text in texts] == [tokens().count(text) for text in texts]


def test_a_text_is_counted_once_while_it_is_among_those_asked_for_last() -> None:
    counter = CounterWrites()
    remembered = RememberedTokens(counter, 2 * ENTRY_BYTES)
    for text in ("one", "two", "one", "one", "three", "one", "two"):
        assert remembered.count(text) == 1_000 + len(text)
    assert counter.asked == ["one", "two", "three", "two"]


def test_token_cache_stays_within_its_memory() -> None:
    limit = 300_000
    tracemalloc.start()
    remembered = RememberedTokens(CounterWrites(), limit)
    try:
        for n in range(3 * limit // ENTRY_BYTES):
            remembered.count(f"{n} " * 100)
            if n % 50 == 0:
                remembered._counter.asked.clear()  # type: ignore[attr-defined]
        gc.collect()
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert limit / 2 < now <= limit
    assert peak <= limit * 1.1


def test_several_threads_may_count_at_once() -> None:
    remembered = RememberedTokens(CounterWrites(), 50 * ENTRY_BYTES)
    texts = [str(n % 100) * (n % 7) for n in range(4_000)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(remembered.count, texts)) == [1_000 + len(text) for text in texts]


def test_token_cache_without_memory_counts_every_text_again() -> None:
    counter = CounterWrites()
    remembered = RememberedTokens(counter, 0)
    assert remembered.count("one") == remembered.count("one") == 1_003
    assert counter.asked == ["one", "one"]


def test_next_prompt_counts_only_new_texts() -> None:
    counter = CounterWrites()
    world = World(overrides={"tokens": counter})
    world.agent(history_format="timeline")
    world.chat(person(), bot())
    for n in range(10):
        world.post(f"{MESSAGE} {n}", person())
        world.drain()
    counter.asked.clear()
    world.post(f"{MESSAGE} 10", person())
    world.drain()
    again = [text for text in counter.asked if text.startswith("  [msg:")]
    # The question and its mark that flipped, the answer, the new question; some as the last line.
    assert len(again) <= 6


def test_cached_token_cut_equals_the_computed_cut() -> None:
    text = "How far shall I run, and how fast? " * 50
    counter = CounterWrites()
    remembered = RememberedTokens(counter, 50 * ENTRY_BYTES)
    for size in (10, 20, 10, 20):
        assert remembered.cut(text, size) == text[:size]
    assert counter.cuts == [10, 20]
    assert remembered.count(text) == 1_000 + len(text)


@given(st.text(alphabet="ab é\n日🙂", max_size=300), st.integers(0, 40), st.integers(0, 4))
def test_cached_cut_equals_the_counters_cut(text: str, size: int, room: int) -> None:
    remembered = RememberedTokens(tokens(), room * ENTRY_BYTES)
    for _ in range(2):
        found = remembered.cut(text, size)
        assert text.startswith(found)
        assert tokens().count(found) <= size
        assert found == tokens().cut(text, size)


def test_cut_to_no_tokens_of_a_counted_text_is_empty() -> None:
    remembered = RememberedTokens(CounterWrites(), 50 * ENTRY_BYTES)
    assert remembered.count("one") == 1_003
    assert remembered.cut("one", 0) == ""


def test_counter_of_another_model_shares_the_memory_and_counts_by_itself() -> None:
    counter = CounterWrites()
    remembered = RememberedTokens(counter, 2 * ENTRY_BYTES)
    assert remembered.count("one") == 1_003
    other = remembered.for_model("other")
    assert other.encoding == "other"
    assert [other.count("one"), other.count("two"), remembered.count("one")] == [1_003] * 3
    assert counter.asked == ["one", "one", "two", "one"]


# ---------------------------------------------------------------------- each model its own way


def test_models_are_counted_as_tiktoken_says_and_unknown_ones_by_the_newest() -> None:
    text = "日本語のトークンを数える: naïve façade"
    encodings = {
        "gpt-4.1-mini": "o200k_base",
        "gpt-4o": "o200k_base",
        "gpt-4": "cl100k_base",
        "gpt-4-0613": "cl100k_base",
        "gpt-3.5-turbo": "cl100k_base",
        "text-davinci-003": "o200k_base",  # its own is not shipped
        "some-llama": "o200k_base",
    }
    remembered = RememberedTokens(tokens(), 50 * ENTRY_BYTES)
    for model, encoding in encodings.items():
        exact = len(tiktoken.get_encoding(encoding).encode_ordinary(text))
        for counter in (tokens().for_model(model), remembered.for_model(model)):
            assert (counter.encoding, counter.count(text)) == (encoding, exact)
    counts = {tokens().for_model(model).count(text) for model in encodings}
    assert len(counts) == 2


def test_counts_of_two_encodings_are_not_taken_for_each_other() -> None:
    counter = CounterWrites()
    remembered = RememberedTokens(counter, 50 * ENTRY_BYTES)
    assert remembered.for_model("length") is remembered
    for _ in range(2):
        remembered.count("one")
        remembered.for_model("other").count("one")
    assert counter.asked == ["one", "one"]


@pytest.mark.parametrize(
    ("agent", "said", "encoding"),
    [
        ({}, None, "o200k_base"),
        ({"model": "gpt-4"}, None, "cl100k_base"),
        ({"model": "gpt-4"}, "gpt-4.1", "o200k_base"),
        ({}, "gpt-4", "cl100k_base"),
    ],
)
def test_a_prompt_is_counted_as_its_agents_model_counts_or_as_a_setting_says(
    agent: dict[str, str], said: str | None, encoding: str
) -> None:
    world = World()
    world.agent(**agent, settings={"tokenizer_model": said})
    world.chat(person(), bot(), kind="direct", visibility="private", respond="manual")
    world.post("日本語のトークンを数える", person())
    prompt = world.app.preview.show(TENANT, "agt_a", "chat_1")
    exact = tiktoken.get_encoding(encoding).encode_ordinary
    [identity] = [section for section in prompt.sections if section.name == "IDENTITY"]
    assert identity.tokens == len(exact(f"{identity.text}\n\n"))
    [history] = [section for section in prompt.sections if section.name == "CHAT HISTORY"]
    assert history.tokens == len(exact("[Husam (human)] 日本語のトークンを数える"))
