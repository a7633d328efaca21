"""Cutting a conversation to size."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skein.interface.budget import MESSAGE_OVERHEAD_TOKENS, HistoryEntry, fit, total
from skein.models.chats.chat import Chat
from skein.models.chats.summary import PinnedSummary, Summary
from skein.models.common.storage import Update
from skein.models.runs.step import HISTORY, PromptRecord
from skein.models.visibility.audience import Audience
from skein.services.common.token_cache import RememberedTokens
from tests.support.builders import TENANT, World, bot, person, tokens
from tests.support.examples import examples

SUMMARY = "CONVERSATION SUMMARY"

WORDS = st.text(
    alphabet=st.sampled_from("abc dé\n☃日本🙂 \t"), min_size=0, max_size=400
) | st.integers(1, 120).map(lambda n: "all work and no play " * n)


def _entries(texts: list[str], current: int | None) -> list[HistoryEntry]:
    return [
        HistoryEntry(seq, text, tokens().count(text), own=seq % 2 == 0, current=seq == current)
        for seq, text in enumerate(texts, start=1)
    ]


@given(
    st.lists(WORDS, min_size=1, max_size=8),
    st.data(),
    st.integers(60, 400),
    st.sampled_from([1, 2, 5, 25]),
)
def test_trimmed_history_fits_and_keeps_order_and_current_message(
    texts: list[str], data: st.DataObject, limit: int, block: int
) -> None:
    current = data.draw(st.integers(1, len(texts)) | st.none())
    entries = _entries(texts, current)

    left = fit(entries, limit, tokens(), block=block)

    assert total(left) <= limit
    assert all(entry.tokens == tokens().count(entry.text) for entry in left)
    assert [e.seq for e in left] == sorted(e.seq for e in left)
    assert {e.seq for e in entries[-2:]} <= {e.seq for e in left}
    assert current is None or any(entry.current for entry in left)
    assert fit(left, limit, tokens(), block=block) == left
    if total(entries) <= limit:
        assert list(left) == entries


def test_history_over_budget_drops_the_oldest_entries() -> None:
    entries = _entries(["one two three four"] * 10, 10)
    left = fit(entries, total(entries) - 1, tokens())
    assert [entry.seq for entry in left] == list(range(2, 11))


@pytest.mark.parametrize("current", [1, 3, 6])
def test_history_of_any_limit_keeps_as_many_new_entries_as_fit(current: int) -> None:
    entries = _entries(["one", "two three", "four five six", "seven", "eight", "nine"], current)
    staying = [entry for entry in entries if entry.current or entry.seq > 4]
    for limit in range(total(staying), total(entries) + 1):
        tails = ([e for e in entries if e in staying or e.seq > start] for start in range(7))
        assert list(fit(entries, limit, tokens())) == next(
            tail for tail in tails if total(tail) <= limit
        )


def test_in_blocks_the_beginning_stays_put_while_messages_come() -> None:
    size = _entries(["one two three four"], None)[0].cost
    starts = []
    for last in range(21, 61):
        entries = _entries(["one two three four"] * last, last)
        left = fit(entries, 20 * size, tokens(), block=10)
        assert 10 < len(left) <= 20
        starts.append(left[0].seq)
    assert starts == sorted(starts)
    assert set(starts) == {11, 21, 31, 41}


def test_history_start_moves_by_less_than_a_block_if_too_little_would_remain() -> None:
    entries = _entries(["word " * 100] * 12, 12)
    limit = total(entries[-5:])
    assert [entry.seq for entry in fit(entries, limit, tokens(), block=10)] == [9, 10, 11, 12]


def test_a_current_message_that_is_old_stays_while_newer_ones_go() -> None:
    entries = _entries(["one two three four"] * 6, 1)
    left = fit(entries, total(entries[:3]), tokens())
    assert [entry.seq for entry in left] == [1, 5, 6]


def test_a_long_message_is_cut_with_a_mark_before_the_current_one_is_touched() -> None:
    entries = _entries(["word " * 500, "What do you think of this?"], 2)
    before, current = fit(entries, 100, tokens())
    assert before.text.endswith("characters cut]")
    assert before.text.startswith("word word")
    assert current == entries[1]


def test_a_current_message_that_is_too_long_by_itself_is_cut_too() -> None:
    [only] = fit(_entries(["word " * 5_000], 1), 1_000, tokens())
    assert only.text.endswith("characters cut]")
    assert only.tokens + MESSAGE_OVERHEAD_TOKENS <= 1_000
    assert only.tokens > 950


# ---------------------------------------------------------------------- history and summary


@settings(max_examples=examples(40))
@given(
    st.lists(WORDS.filter(str.strip), min_size=1, max_size=8),
    st.text(alphabet="abc é\n日", min_size=1, max_size=900).filter(str.strip) | st.none(),
    st.integers(300, 2_000),
    st.sampled_from(["roles", "timeline"]),
)
def test_history_and_summary_never_exceed_the_token_limit(
    texts: list[str], summary: str | None, most: int, history: Any
) -> None:
    world, prompt = _prompt(texts, summary, most, history)
    shown = {one.name: one for one in prompt.sections if one.name in (HISTORY, SUMMARY)}
    assert sum(one.tokens for one in shown.values()) <= most
    assert (SUMMARY in shown) == (summary is not None)
    told = shown[HISTORY].text
    for message in world.messages()[-2:]:
        at = told.find(f"[msg:{message.seq} " if history == "timeline" else "[Husam (human)]")
        assert at >= 0, "the last two stay"
        told = told[at + 1 :]


def _prompt(
    texts: list[str], summary: str | None, most: int, history: Any, **chat: Any
) -> tuple[World, PromptRecord]:
    """What an agent is shown of a direct chat in which all this was said."""
    world = World()
    said = {"max_context_tokens": most, "message_history_limit": 200}
    world.agent(settings=said, history_format=history)
    fields = {"kind": "direct", "visibility": "private", "respond": "manual"}
    world.chat(person(), bot(), **(fields | chat))
    for text in texts:
        world.post(text, person())
    if summary is not None:
        pin = PinnedSummary(
            text=summary, seq=0, start=1, from_seq=1, audience=world.stored_chat().readers
        )
        key = Chat.key_of(TENANT, "chat_1")
        world.table.write(Update(key, set={"pinned": pin.model_dump(mode="json")}))
    return world, world.app.preview.show(TENANT, "agt_a", "chat_1")


def _record(world: World, seq: int) -> None:
    """Store a summary that covers the chat up to `seq`."""
    record = Summary(
        text=f"They spoke of many things, up to {seq}.",
        from_seq=1,
        seq=seq,
        audience=world.stored_chat().readers,
        at=world.clock.now(),
    )
    key = Chat.key_of(TENANT, "chat_1")
    world.table.write(Update(key, set={"summary": record.model_dump(mode="json")}))


def test_stored_summary_covers_messages_beyond_the_budget() -> None:
    world, whole = _prompt(["all work and no play " * 20] * 12, "Old times.", 600, "roles")
    assert "Old times." in _named(whole, SUMMARY)
    asked = len(world.model.requests)
    _record(world, 9)
    cut = world.app.preview.show(TENANT, "agt_a", "chat_1")
    assert "up to 9." in _named(cut, SUMMARY)
    assert sum(one.tokens for one in cut.sections if one.name in (HISTORY, SUMMARY)) <= 600
    assert len(world.model.requests) + len(world.model.summary_requests) == asked


def test_where_all_messages_fit_the_summary_stays_the_one_that_is_pinned() -> None:
    world, _ = _prompt(["Hello"] * 12, "Old times.", 2_000, "roles")
    _record(world, 9)
    prompt = world.app.preview.show(TENANT, "agt_a", "chat_1")
    assert "Old times." in _named(prompt, SUMMARY)


def test_summary_for_another_audience_is_not_shown() -> None:
    world, _ = _prompt(["all work and no play " * 20] * 12, None, 600, "roles")
    _record(world, 9)
    key = Chat.key_of(TENANT, "chat_1")
    record = world.stored_chat().summary
    assert record is not None
    strangers = record.model_copy(update={"audience": Audience(open=False, people=("usr_x",))})
    world.table.write(Update(key, set={"summary": strangers.model_dump(mode="json")}))
    prompt = world.app.preview.show(TENANT, "agt_a", "chat_1")
    assert SUMMARY not in {one.name for one in prompt.sections}


def _named(prompt: PromptRecord, name: str) -> str:
    return next(one.text for one in prompt.sections if one.name == name)


# ---------------------------------------------------------------------- what it costs


@dataclass
class Work:
    """Counts exactly, and how many characters it had to look at."""

    characters: int = 0
    encoding: str = "o200k_base"

    def for_model(self, _model: str) -> "Work":
        return self

    def count(self, text: str) -> int:
        self.characters += len(text)
        return tokens().count(text)

    def cut(self, text: str, most: int) -> str:
        self.characters += len(text)
        return tokens().cut(text, most)


LONG = ("What shall I eat before a long run, and when? " * 450)[:20_000]


def test_a_conversation_that_fits_is_not_looked_at_again() -> None:
    work = Work()
    entries = _entries(["How far shall I run today?"] * 5, 5)
    assert list(fit(entries, 1_000, work)) == entries
    assert work.characters == 0


def test_twenty_thousand_characters_are_looked_at_a_few_times_and_then_never_again() -> None:
    work = Work()
    remembered = RememberedTokens(work, 1_000_000)
    entries = _entries([LONG], 1)
    first = fit(entries, 1_000, remembered)
    assert work.characters < 5 * len(LONG)
    seen = work.characters
    assert fit(entries, 1_000, remembered) == first
    assert work.characters == seen
