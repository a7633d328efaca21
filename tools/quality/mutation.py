"""Mutation scores of five core modules: how many small changes of the code the tests detect.

`make mutation` changes each module with cosmic-ray, one place at a time, at a sample of its places,
and runs the module's tests on each changed version (mutant). The mutants are in a temporary copy of
the project. If no test fails on a mutant, the mutant has survived, and its diff is printed. The
seed decides on the sample.
"""

import argparse
import os
import random
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_db import use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome

from tools.quality.project_copy import ROOT, copy_project

LAYER = Path("shared/skein")
TESTS = Path("tests")

# The tests of each module, the quickest to notice a mutant first.
MODULES: dict[str, tuple[str, ...]] = {
    "services/chats/post_message.py": (
        "unit/chats/test_post_message.py",
        "unit/inbound/test_sms.py",
        "unit/runs/test_debounce.py",
        "handlers/test_reasons.py",
    ),
    "services/runs/claim.py": (
        "unit/runs/test_claim.py",
        "unit/runs/test_lease.py",
        "unit/runs/test_waits.py",
    ),
    "interface/budget.py": ("unit/interface/test_budget.py", "unit/sections/test_builder_size.py"),
    "models/visibility/audience.py": (
        "unit/visibility/test_audience.py",
        "unit/visibility/test_disclosure.py",
    ),
    "services/delivery/sender.py": (
        "unit/delivery/test_sender.py",
        "unit/delivery/test_policy.py",
        "faults/test_delivery_retries.py",
        "faults/test_delivery_faults.py",
    ),
}

# Mutants that behave as the original does: types in annotations, and `is` for equal constants.
EQUIVALENT = re.compile(
    r"core/(ReplaceBinaryOperator_BitOr_|ReplaceComparisonOperator_"
    r"(Is_Eq|IsNot_NotEq|Eq_Is|NotEq_IsNot)$)"
)
SLOWER = 10  # a mutant whose tests take so many times as long counts as noticed
MIN_MUTANT_SECONDS = 60.0


class Score(NamedTuple):
    """How many mutants of a module were detected, and which survived."""

    killed: int
    timeouts: int
    survivors: list[str]

    @property
    def tried(self) -> int:
        """How many mutants were tested."""
        return self.killed + self.timeouts + len(self.survivors)


def mutations_of(module: Path) -> list[MutationSpec]:
    """List all mutants of a module."""
    with tempfile.TemporaryDirectory() as folder, use_db(str(Path(folder) / "work.sqlite")) as db:
        init([module], db, {})
        return [mutation for item in db.work_items for mutation in item.mutations]


def sample(module: Path, count: int, seed: str) -> list[MutationSpec]:
    """Choose at most `count` places of a module at random, and one mutant for each place.

    Decorators are not mutated, because a class without `slots=True`, for example, behaves the same.
    """
    chance = random.Random(seed)
    lines = module.read_text(encoding="utf-8").splitlines()
    places: dict[tuple[int, int], list[MutationSpec]] = {}
    for mutation in sorted(
        mutations_of(module), key=lambda each: (each.start_pos, each.operator_name)
    ):
        decorates = lines[mutation.start_pos[0] - 1].startswith("@")
        if not decorates and not EQUIVALENT.match(mutation.operator_name):
            places.setdefault(mutation.start_pos, []).append(mutation)
    chosen = [chance.choice(mutants) for mutants in places.values()]
    chance.shuffle(chosen)
    return chosen[:count]


def test_command(tests: Iterable[str]) -> str:
    """Return the command that runs a module's tests until one fails."""
    python = str(ROOT / ".venv" / "bin" / "python")
    options = ["-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
    return shlex.join([python, "-m", "pytest", *options, *(str(TESTS / name) for name in tests)])


def score(
    mutants: Iterable[MutationSpec], command: str, *, seconds: float, mutant_seconds: float
) -> Score:
    """Test mutants until the time is over.

    Args:
        mutants: The mutants to test, in this order.
        command: The command that runs the tests.
        seconds: The time after which no further mutant is tested.
        mutant_seconds: The time limit for each mutant.
    """
    give_up = time.monotonic() + seconds
    killed, timeouts, survivors = 0, 0, list[str]()
    for mutant in mutants:
        if time.monotonic() > give_up:
            break
        result = mutate_and_test([mutant], command, mutant_seconds)
        if result.test_outcome == TestOutcome.SURVIVED:
            survivors.append(result.diff or "")
        elif result.output == "timeout":
            timeouts += 1
        else:
            killed += 1
    return Score(killed, timeouts, survivors)


def arguments(given: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.quality.mutation")
    parser.add_argument("only", nargs="*", help="parts of modules' names; without any, all five")
    parser.add_argument("--mutants", type=int, default=60, help="at most so many per module")
    parser.add_argument("--seconds", type=float, default=300, help="at most so long per module")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(given)


def main(given: list[str]) -> int:
    """Print the surviving mutants and the score of each module.

    Returns:
        The exit status: 0, or 1 if tests fail on the unchanged code.
    """
    options = arguments(given)
    lines: list[str] = []
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        copy_project(project)
        os.chdir(project)
        for name, tests in MODULES.items():
            if options.only and not any(part in name for part in options.only):
                continue
            command = test_command(tests)
            began = time.monotonic()
            outcome, output = run_tests(command, options.seconds)
            mutant_seconds = max(MIN_MUTANT_SECONDS, SLOWER * (time.monotonic() - began))
            if outcome != TestOutcome.SURVIVED:
                print(f"mutation: the tests of {name} fail without a mutation:\n{output}")
                failed = True
                continue
            module = LAYER / name
            mutants = sample(module, options.mutants, f"{options.seed} {name}")
            result = score(mutants, command, seconds=options.seconds, mutant_seconds=mutant_seconds)
            print(*result.survivors, sep="\n\n", flush=True)
            noticed = result.killed + result.timeouts
            line = (
                f"{name:<34}{noticed:>4} of {result.tried:>3} noticed"
                f"{100 * noticed / max(result.tried, 1):>6.0f}%"
                f"   {result.timeouts} by time, {len(mutants)} in the sample"
            )
            print(line, flush=True)
            lines.append(line)
    print(f"seed {options.seed}", *lines, sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
