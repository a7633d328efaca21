"""A block keeps the embeddings of eight messages in bytes, with the lengths of their windows."""

import math

import pytest

from skein.models.common.embedding import Embedding, unit
from skein.recall.models.block import Block, IndexedText, block_number, block_of

EAST, NORTH = (1.0, 0.0), (0.0, 1.0)


def text(seq: int, vector: tuple[float, ...], weight: float = 1.0) -> IndexedText:
    return IndexedText(seq, "usr_a", ("word",), Embedding(vector, weight))


def block(*texts: IndexedText) -> Block:
    return block_of("chat_1", 0, "model", texts)


@pytest.mark.parametrize(("seq", "number"), [(1, 0), (7, 0), (8, 1), (800, 100)])
def test_block_number_follows_from_the_number_of_the_message(seq: int, number: int) -> None:
    assert block_number(seq) == number


def test_block_vector_is_the_direction_of_the_weighted_sum() -> None:
    made = block(text(1, EAST, 3.0), text(2, NORTH, 4.0))
    assert made.vector == pytest.approx((0.6, 0.8))


def test_steps_and_scale_give_back_the_weighted_vector() -> None:
    [line] = block(text(1, (0.6, -0.8), 5.0)).lines
    steps = memoryview(line.steps).cast("b")
    assert [line.scale * step for step in steps] == pytest.approx((3.0, -4.0), abs=0.02)


def test_window_lengths_count_the_neighbours_within_reach() -> None:
    made = block(*(text(seq, EAST) for seq in range(1, 9)))
    assert [line.near for line in made.lines] == pytest.approx([2, 3, 3, 3, 3, 3, 3, 2], rel=1e-4)
    assert [line.wide for line in made.lines] == pytest.approx([4, 5, 6, 7, 7, 6, 5, 4], rel=1e-4)


def test_text_without_words_has_no_direction() -> None:
    [line] = block(text(1, (0.0, 0.0), 0.0)).lines
    assert (line.scale, line.near, line.wide) == (0.0, 0.0, 0.0)
    assert unit((0.0, 0.0)) == (0.0, 0.0)


def test_unit_has_length_one() -> None:
    assert math.hypot(*unit((3.0, 4.0))) == pytest.approx(1.0)
