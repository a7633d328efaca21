"""The eval passes a model that is right in each situation, and fails one that is wrong in each."""

import pytest

from bench.eval.__main__ import Outcome, main, play, table
from bench.eval.scripted import scripted_model
from bench.eval.situation import Check, Situation
from bench.eval.situations import SITUATIONS

SAMPLE = SITUATIONS[::16]


def by_name(situation: Situation) -> str:
    return situation.name


def played(situation: Situation, script: str) -> Outcome:
    with scripted_model() as model:
        base_url = model.base_url
        outcome = play(
            situation, base_url=base_url, api_key=None, model=None, script=(model, script)
        )
        if script == "right":
            assert model.left == 0, "the script has answers that nobody asked for"
    return outcome


def check_scripts(situation: Situation) -> None:
    right, wrong = played(situation, "right"), played(situation, "wrong")
    assert right.problem is None
    assert right.missing == ""
    assert right.passed
    assert right.tokens > 0
    assert wrong.problem is None
    assert not wrong.passed
    assert wrong.missing


@pytest.mark.parametrize("situation", SAMPLE, ids=by_name)
def test_eval_of_a_sample_tells_a_right_model_from_a_wrong_one(situation: Situation) -> None:
    check_scripts(situation)


@pytest.mark.slow
@pytest.mark.parametrize("situation", SITUATIONS, ids=by_name)
def test_eval_tells_a_right_model_from_a_wrong_one(situation: Situation) -> None:
    check_scripts(situation)


def test_situations_are_forty_or_more_with_names_of_their_own() -> None:
    names = [situation.name for situation in SITUATIONS]
    assert len(names) == len(set(names)) >= 40


def test_eval_without_a_model_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert main([]) == 1
    assert "OPENAI_API_KEY" in capsys.readouterr().err


def test_table_names_missed_goals_and_sums_abilities() -> None:
    first, second = SITUATIONS[:2]
    outcomes = [
        Outcome(first, (Check("names Ann", met=True),), tokens=1_234),
        Outcome(second, (Check("names Ann", met=True), Check("names Ben", met=False))),
    ]
    lines = list(table(outcomes))
    assert lines[0].startswith("pass")
    assert lines[0].endswith("1,234")
    assert lines[1].startswith("FAIL")
    assert lines[1].endswith("names Ben")
    assert lines[-2:] == ["  1 of 2   knows who asked", "  1 of 2   in all"]
