"""The bench of cases passes the calls that solve a task, and counts the wrong ones that fail."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.trials.__main__ import cases_of, main, mutants_of, passes
from skein.trials.models.expectation import PlayedCall

STRANGE = PlayedCall("look_around", {})


def action(name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "requestor": requestor}


def task(*actions: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "task_1",
        "user_scenario": {"instructions": "You want to close your account."},
        "evaluation_criteria": {"actions": list(actions)},
    }


CLOSES = [action(f"step_{n}", user="u1", amount=n, final=n == 11) for n in range(12)]
LOOSE = action("hand_over", reason="closed", summary="") | {"compare_args": ["reason"]}
TASK = task(*CLOSES, LOOSE, action("pay", "user", amount=7))


def test_long_task_becomes_cases_that_its_calls_pass() -> None:
    cases = cases_of(TASK)
    calls = [PlayedCall(each["name"], each["arguments"]) for each in [*CLOSES, LOOSE]]
    assert [len(case.expect) for case in cases] == [10, 5]
    assert passes(cases, calls)
    reworded = PlayedCall("hand_over", {"reason": "closed", "summary": "The customer left."})
    assert passes(cases, [*calls[:-1], reworded])


def test_each_wrong_call_fails_a_case() -> None:
    cases = cases_of(TASK)
    kinds = [kind for kind, calls in mutants_of(TASK, STRANGE) if not passes(cases, calls)]
    assert (kinds.count("dropped"), kinds.count("added")) == (13, 13)
    assert kinds.count("changed") == 12 * 4 + 2


def test_bench_prints_shares_and_fails_below_the_goal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bank-tasks.json"
    path.write_text(json.dumps([TASK, task(action("pay", "user"))]))
    assert main(tmp_path) == 0
    assert "1 of 1 tasks pass" in capsys.readouterr().out
    equal = [CLOSES[0]] * 10  # in two cases, so that one of them may be lost
    path.write_text(json.dumps([task(*equal)]))
    assert main(tmp_path) == 1
