"""`make bench ONLY=trials DATA=folder`: whether an agent's cases fail when a tool call is wrong.

The folder has `bank-tasks.json`, the banking tasks of tau2-bench. The calls that solve a task
become cases of an agent, as an operator would write them. The correct calls must pass their cases.
With one call dropped, changed or added, the calls must fail.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from skein.trials.models.case import Case, Script, ScriptPerson, ScriptTurn
from skein.trials.models.expectation import (
    Expectation,
    PartOfCall,
    Played,
    PlayedCall,
    missing_of,
)

AT_ONCE = 9  # calls in a case, beside the limit of steps
GOAL = 0.98  # of the mutants fail
Task = Mapping[str, Any]


class Mutant(NamedTuple):
    """The calls that solve a task, except that one of them is wrong."""

    kind: str
    calls: Sequence[PlayedCall]


def actions_of(task: Task) -> list[Task]:
    """Return the calls of the agent that solve a task."""
    actions = task["evaluation_criteria"]["actions"]
    return [each for each in actions if each["requestor"] == "assistant"]


def compared(action: Task) -> dict[str, Any]:
    """Return those arguments of a call that the original benchmark compares."""
    names = action.get("compare_args")
    arguments: dict[str, Any] = action["arguments"]
    return arguments if names is None else {n: arguments[n] for n in names if n in arguments}


def cases_of(task: Task) -> list[Case]:
    """Return the cases of a task. Each case expects some of the task's calls."""
    actions = actions_of(task)
    wanted = [
        Expectation(calls=PartOfCall(tool=each["name"], arguments=compared(each)))
        for each in actions
    ]
    person = task["user_scenario"]["instructions"][:2_000]
    script = Script(
        people=(ScriptPerson(name="Customer"),),
        turns=(ScriptTurn(sender="Customer", text=person),),
    )
    exactly = Expectation.model_validate({"at_most": {"steps": len(actions)}})
    return [
        Case(
            tenant="bank",
            agent_id="agt_bank",
            id=f"case_{task['id']}_{start}",
            name=task["id"],
            expect=(*wanted[start : start + AT_ONCE], exactly),
            script=script,
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for start in range(0, len(actions), AT_ONCE)
    ]


def passes(cases: Sequence[Case], calls: Sequence[PlayedCall]) -> bool:
    """Return whether calls, each in a step of its own, pass all cases of their task."""
    played = Played(calls=tuple(calls), steps=len(calls))
    return not any(any(missing_of(case.expect, played)) for case in cases)


def mutants_of(task: Task, strange: PlayedCall) -> Iterator[Mutant]:
    """Yield the calls of a task with each one dropped, changed, or followed by a strange call."""
    actions = actions_of(task)
    calls = [PlayedCall(each["name"], each["arguments"]) for each in actions]
    for at, (action, call) in enumerate(zip(actions, calls, strict=True)):
        yield Mutant("dropped", calls[:at] + calls[at + 1 :])
        yield Mutant("added", [*calls[: at + 1], strange, *calls[at + 1 :]])
        for name, value in compared(action).items():
            other = call._replace(arguments={**call.arguments, name: _changed(value)})
            yield Mutant("changed", [*calls[:at], other, *calls[at + 1 :]])
        other = call._replace(tool=f"{call.tool}_2")
        yield Mutant("changed", [*calls[:at], other, *calls[at + 1 :]])


def _changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else f"{value}1"


def main(folder: Path) -> int:
    """Print which calls pass and which fail, and return the exit status."""
    tasks = [
        each
        for each in json.loads((folder / "bank-tasks.json").read_text("utf-8"))
        if actions_of(each)
    ]
    strange = PlayedCall("look_around", {})
    made = dict.fromkeys(("dropped", "changed", "added"), 0)
    right, failed = 0, dict(made)
    for task in tasks:
        cases = cases_of(task)
        right += passes(cases, [PlayedCall(a["name"], a["arguments"]) for a in actions_of(task)])
        for kind, calls in mutants_of(task, strange):
            made[kind] += 1
            failed[kind] += not passes(cases, calls)
    print(f"{right} of {len(tasks)} tasks pass with the calls that solve them")
    for kind in made:
        print(f"{failed[kind]:,} of {made[kind]:,} with one call {kind} fail")
    share = sum(failed.values()) / max(sum(made.values()), 1)
    print(f"{share:.1%} of all mutants fail")
    return 0 if right == len(tasks) and share >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
