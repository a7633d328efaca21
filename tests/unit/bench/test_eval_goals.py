"""Each goal of the eval accepts right answers in different words, and refuses wrong ones."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from itertools import cycle

import pytest

from bench.eval import situations
from bench.eval.situation import SILENT, Expected, Situation
from skein.trials.verdicts import verdict

MODULES = [
    importlib.import_module(f"{situations.__name__}.{module.name}")
    for module in pkgutil.iter_modules(situations.__path__)
]
GOALS = {
    id(goal): pytest.param(goal, id=f"{module.__name__.split('.')[-1]}.{name}")
    for module in MODULES
    for name, goal in vars(module).items()
    if isinstance(goal, Expected) and goal is not SILENT
}
# Situations that judge only what an agent did, such as its silence; they show no texts to judge.
NO_TEXTS = {
    "answers in a short SMS",
    "completes the thread that is done",
    "is silent again after its answer",
    "is silent where a message only speaks of it",
    "keeps out of small talk",
}


@pytest.mark.parametrize("goal", GOALS.values())
def test_goal_accepts_right_answers_and_rejects_wrong_ones(goal: Expected) -> None:
    assert len(set(goal.right)) >= 3
    assert len(set(goal.wrong)) >= 3
    assert [text for text in goal.right if goal.missing([text]) is not None] == []
    assert [text for text in goal.wrong if goal.missing([text]) is None] == []


@pytest.mark.parametrize("goal", GOALS.values())
def test_trial_blames_wrong_answers_and_no_right_ones(goal: Expected) -> None:
    right, wrong = (
        [goal.missing([text]) is None for text, _ in zip(cycle(texts), range(8), strict=False)]
        for texts in (goal.right, goal.wrong)
    )
    assert verdict(right, wrong, 3) == "regressed"
    assert verdict(right, right, 3) == "held"


def goals_of(situation: Situation) -> Iterator[Expected]:
    """Yield the goals that the function of a situation names."""
    named = inspect.getclosurevars(situation.play)
    for value in (*named.globals.values(), *named.nonlocals.values()):
        if isinstance(value, Expected) and value is not SILENT:
            yield value


def test_each_situation_that_judges_texts_has_examples() -> None:
    without = {each.name for each in situations.SITUATIONS if not [*goals_of(each)]}
    assert without == NO_TEXTS


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.split(".")[-1])
def test_texts_are_judged_by_goals_alone(module: object) -> None:
    assert "re" not in vars(module), "texts are judged by Expected, which has examples"
