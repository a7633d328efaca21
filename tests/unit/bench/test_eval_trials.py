"""The situations of the eval are cases of trials, unless they use what worlds do not have."""

import pytest

from bench.eval import trials
from bench.eval.scripted import scripted_model
from bench.eval.situations import SITUATIONS

BY_NAME = {each.name: each for each in SITUATIONS}


@pytest.mark.parametrize(
    "name",
    [
        "knows who said something first",  # in a group
        "edits one line of a long document",  # by a call of a tool
        "answers in a short SMS",  # by SMS, by its length
        "answers in the language of the question",  # by SMS
        "waits for a person in the same chat",  # in two messages
        "finds a fact in a long document",  # with what an operator wrote
    ],
)
def test_trial_blames_the_wrong_script_of_a_situation_and_not_the_right_one(name: str) -> None:
    situation = BY_NAME[name]
    assert [*trials.tried(situation)[0]] == ["regressed"]
    assert [*trials.tried(situation, candidate=situation.right)[0]] == ["held"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("asks in another chat and brings the reply home", "another chat"),
        ("asks another agent by name", "another agent"),
        ("knows the newer of two facts", "memories of a conversation"),
        ("keeps a promise by SMS", "something that becomes due after the last message"),
    ],
)
def test_situation_that_needs_more_than_a_world_has_is_no_case(name: str, why: str) -> None:
    with pytest.raises(trials.NotInWorldError, match=f"^{why}$"):
        trials.tried(BY_NAME[name])


@pytest.mark.parametrize(
    "name",
    [
        "answers in the group that asked",  # by the chat of a call
        "leaves a question to the agent that was asked",  # of two agents
        "drops a reminder whose reason is gone",  # after another run was judged
    ],
)
def test_run_that_decides_a_situation_becomes_a_case(name: str) -> None:
    with scripted_model() as scripted:
        assert trials.tried_as_run(BY_NAME[name], scripted) == "regressed"


def test_situation_that_has_its_prompts_forgotten_is_no_case_of_a_run() -> None:
    forgets = BY_NAME["has a person's words forgotten without telling a group"]
    with scripted_model() as scripted, pytest.raises(trials.NotInWorldError):
        trials.tried_as_run(forgets, scripted)
