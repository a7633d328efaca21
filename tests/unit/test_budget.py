"""Cutting a conversation to size."""

from hypothesis import given
from hypothesis import strategies as st

from skein.agent.budget import MESSAGE_OVERHEAD_TOKENS, Entry, fit, total
from tests.builders import tokens

WORDS = st.text(
    alphabet=st.sampled_from("abc dé\n☃日本🙂 \t"), min_size=0, max_size=400
) | st.integers(1, 120).map(lambda n: "all work and no play " * n)


def _entries(texts: list[str], current: int | None) -> list[Entry]:
    return [
        Entry(seq, text, tokens().count(text), own=seq % 2 == 0, current=seq == current)
        for seq, text in enumerate(texts, start=1)
    ]


@given(
    st.lists(WORDS, min_size=1, max_size=8),
    st.data(),
    st.integers(60, 400),
    st.sampled_from([1, 2, 5, 25]),
)
def test_what_is_left_fits_keeps_its_order_and_its_current_message(
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


def test_the_oldest_go_first() -> None:
    entries = _entries(["one two three four"] * 10, 10)
    left = fit(entries, total(entries) - 1, tokens())
    assert [entry.seq for entry in left] == list(range(2, 11))


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


def test_where_blocks_would_leave_too_little_the_beginning_moves_by_less() -> None:
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
