"""Chunks: what one question holds, nothing left out, nothing broken that fits."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from skein.memory.chunking import Chunk, HistoryPosition, chunks, halves
from skein.models.chats.chat import Message
from tests.support.builders import NOON, TENANT, person

HUSAM = person()
BEGINNING = HistoryPosition(0)
TEXTS = st.lists(st.integers(0, 60), max_size=30)


def message(seq: int, length: int) -> Message:
    words = "".join("ab "[position % 3] for position in range(length))
    return Message(
        tenant=TENANT,
        chat_id="chat_1",
        id=f"msg_{seq}",
        seq=seq,
        text=words,
        sender=HUSAM,
        client_id=str(seq),
        created_at=NOON,
    )


def measure(_: Message, start: int, end: int) -> int:
    """A token a character, and one for the line."""
    return end - start + 1


def cut(
    lengths: Sequence[int],
    limit: int,
    *,
    longest: int | None = None,
    since: HistoryPosition = BEGINNING,
    joins: Sequence[int] = (),
    until: int | None = None,
) -> list[Chunk]:
    messages = [message(seq, length) for seq, length in enumerate(lengths, 1) if seq > since.seq]
    return list(
        chunks(
            messages,
            since=since,
            until=len(lengths) if until is None else until,
            measure=measure,
            limit=limit,
            longest=limit if longest is None else longest,
            joins=joins,
        )
    )


def spoken(found: Sequence[Chunk]) -> dict[int, str]:
    """What the chunks hold of each message, put together again."""
    texts: dict[int, str] = {}
    for chunk in found:
        for piece in chunk.pieces:
            seq = piece.message.seq
            texts[seq] = texts.get(seq, "") + piece.message.text[piece.start : piece.end]
    return texts


@given(TEXTS, st.integers(2, 40))
def test_every_word_is_in_exactly_one_chunk_and_none_is_too_long(
    lengths: list[int], limit: int
) -> None:
    found = cut(lengths, limit)
    assert spoken(found) == {n: message(n, length).text for n, length in enumerate(lengths, 1)}
    assert all(chunk.tokens <= limit for chunk in found)
    marks = [chunk.position for chunk in found]
    assert marks == sorted(set(marks))
    assert marks[-1:] == ([HistoryPosition(len(lengths))] if lengths else [])


@given(TEXTS, st.integers(2, 40))
def test_a_message_that_fits_is_never_cut(lengths: list[int], limit: int) -> None:
    for chunk in cut(lengths, limit):
        for piece in chunk.pieces:
            whole = (piece.start, piece.end) == (0, len(piece.message.text))
            assert whole or len(piece.message.text) + 1 > limit


@given(TEXTS, st.integers(2, 40))
def test_chunking_from_any_watermark_yields_the_same_chunks(lengths: list[int], limit: int) -> None:
    found = cut(lengths, limit)
    for position, chunk in enumerate(found):
        rest = cut(lengths, limit, since=chunk.position)
        assert spoken(rest) == spoken(found[position + 1 :])


@given(TEXTS, st.lists(st.integers(0, 30), max_size=4))
def test_chunk_ends_where_a_member_joined(lengths: list[int], joins: list[int]) -> None:
    joins = sorted(set(joins))
    for chunk in cut(lengths, 1_000, joins=joins):
        assert not [seq for seq in joins if chunk.from_seq <= seq < chunk.to_seq]


def test_a_chunk_is_as_full_as_it_can_be() -> None:
    assert [len(chunk.pieces) for chunk in cut([9] * 25, 100)] == [10, 10, 5]


def test_last_chunk_covers_messages_without_text() -> None:
    assert cut([5, 5], 100, until=9)[-1].position == HistoryPosition(9)


def test_a_smaller_limit_holds_at_least_one_message_and_cuts_none() -> None:
    found = cut([50, 50, 3, 3], 10, longest=100)
    assert [[piece.message.seq for piece in chunk.pieces] for chunk in found] == [[1], [2], [3, 4]]


def test_a_long_message_is_cut_at_spaces() -> None:
    found = cut([900], 101)
    ends = [chunk.pieces[-1].end for chunk in found[:-1]]
    assert all(message(1, 900).text[end - 1] == " " for end in ends)
    assert [chunk.position for chunk in found] == [
        *(HistoryPosition(0, end) for end in ends),
        HistoryPosition(1),
    ]


@given(TEXTS.filter(bool), st.integers(0, 10**6))
def test_halves_have_all_pieces_of_the_whole(lengths: list[int], seed: int) -> None:
    [whole] = cut([*lengths, 500], 100_000)
    chance, left, done = random.Random(seed), [whole], []
    while left:
        chunk = left.pop()
        two = halves(chunk) if chance.random() < 0.8 else None
        if two is None:
            done.append(chunk)
            continue
        first, second = two
        assert first.position < second.position == chunk.position
        left.extend((second, first))
    assert spoken(done) == spoken([whole])
    for chunk in done:
        again = cut([*lengths, 500], 100_000, since=chunk.position)
        assert spoken(again) == spoken([c for c in done if c.position > chunk.position])


def test_a_short_message_is_not_cut_in_two() -> None:
    [whole] = cut([399], 1_000)
    assert halves(whole) is None
