"""Every move follows every other in the same chat, and all promises hold."""

import pytest

from tests.stories import pairs
from tests.stories.moves import MOVES
from tests.stories.pairs import Share

SAMPLE = 0.002  # of the pairs, in `make test`
SAMPLED, ALL = pairs.shares(SAMPLE), pairs.shares()


@pytest.mark.timeout(0)
@pytest.mark.parametrize("share", SAMPLED, ids=[each.name for each in SAMPLED])
def test_sample_of_pairs_keeps_all_promises(share: Share) -> None:
    tour, wrong = pairs.play(share)
    assert not wrong, "\n\n".join(wrong)
    assert tour.played


@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    "share",
    [
        pytest.param(each, id=each.name, marks=pytest.mark.slow if each.dies else pytest.mark.check)
        for each in ALL
    ],
)
def test_all_pairs_keep_all_promises(share: Share) -> None:
    tour, wrong = pairs.play(share)
    pairs.write(share, tour)
    assert not wrong, "\n\n".join(wrong)


def test_each_move_occurs_in_pairs_or_has_a_reason() -> None:
    shared = {name for share in ALL for pair in share.pairs for name in pair}
    assert set(MOVES) == shared
    assert all(pairs.nowhere().values())
    assert all(MOVES[each.needs] for each in MOVES.values() if each.needs)
    assert all(MOVES[each.undo] for each in MOVES.values() if each.undo)
