"""`make load`: put the local stack under load, then check the table and the queues."""

import argparse
import logging
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from bench.load.machine import data_folder, machine
from bench.load.people import MAX_GAP_SECONDS, MAX_IN_A_BURST
from bench.load.report import page, show
from bench.load.run import A_FEW, Outcome, Plan, any_seed, carry_out
from local.template import ROOT


def main(arguments: list[str]) -> int:
    """Run the load test; return 1 if a check failed."""
    plan, keep = _asked(arguments)
    folder = data_folder()
    log_to(folder / "stack.log")
    how = "with faults" if plan.faults else "without faults"
    print(f"load: {plan.phones} phones, {plan.users} users, {how}, seed {plan.seed}", flush=True)
    begun = time.monotonic()
    outcome = carry_out(plan, folder)
    show(outcome, machine())
    failed = not all(verdict.holds for verdict in outcome.verdicts)
    _write(outcome)
    print(f"\nload: {time.monotonic() - begun:.0f} s in all, seed {plan.seed}")
    if failed or keep:
        print(f"load: data and logs are in {folder}")
    else:
        shutil.rmtree(folder)
    return int(failed)


def _asked(arguments: list[str]) -> tuple[Plan, bool]:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--phones", type=int, default=Plan.phones)
    parser.add_argument("--users", type=int, default=Plan.users)
    parser.add_argument("--seconds", type=float, default=Plan.seconds)
    parser.add_argument("--pause", type=float, default=Plan.pause_seconds)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--few", action="store_true", help="run a few people for a few seconds")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument(
        "--rest", type=float, default=None, help="maximum seconds until all queues are empty"
    )
    parser.add_argument("--converse", action="store_true", help="use a model of Bedrock")
    parser.add_argument("--keep", action="store_true", help="keep the data and logs")
    asked = parser.parse_args(arguments)
    seed = any_seed() if asked.seed is None else asked.seed
    if asked.few:
        return replace(A_FEW, seed=seed, converse=asked.converse), asked.keep
    plan = Plan(
        phones=asked.phones,
        users=asked.users,
        seconds=asked.seconds,
        pause_seconds=asked.pause,
        faults=asked.faults,
        drain_seconds=asked.rest,
        seed=seed,
        converse=asked.converse,
    )
    return plan, asked.keep


def log_to(path: Path) -> None:
    """Write the log lines of the stack and the load test to a file."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in ("local", "bench"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
        logger.propagate = False


def _write(outcome: Outcome) -> None:
    """Write the page of results, if this was a full run."""
    plan = outcome.plan
    if (plan.phones, plan.users, plan.seconds) != (Plan.phones, Plan.users, Plan.seconds):
        return
    if plan.converse:  # the pages are of the default model
        return
    name = "load-faults.md" if plan.faults else "load.md"
    gap = MAX_GAP_SECONDS * (MAX_IN_A_BURST - 1)
    text = page(outcome, machine(), gap=gap)
    (ROOT / "bench" / name).write_text(text, encoding="utf-8")
    print(f"\nload: written to bench/{name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
