"""The ablation leaves parts out of recall, one at a time."""

from collections.abc import Mapping
from typing import cast

from bench.recall.ablation import PARTS, Sets, without
from skein.recall import ranking


class Looking:
    """Sets whose shares are the weights with which they were measured."""

    def shares(self) -> Mapping[str, float]:
        return dict(ranking.WEIGHTS)


def test_part_is_left_out_while_the_sets_are_measured_and_back_afterwards() -> None:
    before = dict(ranking.WEIGHTS)
    named = {part.name: part for part in PARTS}
    part = named["weight: question"]
    assert part.lines > 1
    assert without(part, cast("Sets", Looking())) == before | {"question": 0.0}
    assert before == ranking.WEIGHTS


def test_each_weight_and_each_patched_attribute_exists() -> None:
    for part in PARTS:
        assert all(hasattr(target, name) for target, name, _ in part.patches), part.name
        for target, name, value in part.patches:
            if (target, name) == (ranking, "WEIGHTS"):
                assert isinstance(value, dict)
                assert value.keys() == ranking.WEIGHTS.keys()
