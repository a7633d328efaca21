"""Each goal of the eval accepts right answers in different words, and refuses wrong ones."""

import importlib
import pkgutil

import pytest

from bench.eval import situations
from bench.eval.situation import Goal

GOALS = [
    pytest.param(goal, id=f"{module.name}.{name}")
    for module in pkgutil.iter_modules(situations.__path__)
    for name, goal in vars(importlib.import_module(f"{situations.__name__}.{module.name}")).items()
    if isinstance(goal, Goal)
]


@pytest.mark.parametrize("goal", GOALS)
def test_goal_tells_right_answers_from_wrong_ones(goal: Goal) -> None:
    assert len(set(goal.right)) >= 3
    assert len(set(goal.wrong)) >= 3
    assert [text for text in goal.right if not goal.of([text]).met] == []
    assert [text for text in goal.wrong if goal.of([text]).met] == []
