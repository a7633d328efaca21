"""The situations of the eval are cases of trials, unless they use what worlds do not have."""

import pytest

from bench.eval import trials
from bench.eval.situations import SITUATIONS

BY_NAME = {each.name: each for each in SITUATIONS}


@pytest.mark.parametrize(
    "name",
    [
        "knows who said something first",  # in a group
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
        ("answers in a short SMS", "checks of the stage, and none of texts"),
    ],
)
def test_situation_that_needs_more_than_a_world_has_is_no_case(name: str, why: str) -> None:
    with pytest.raises(trials.NotInWorldError, match=f"^{why}$"):
        trials.tried(BY_NAME[name])
