"""Play longer generated stories: `make stories N=10000`; print the shortest of those that fail."""

import argparse
import gc
import os
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from skein.models.directory import number_code
from tests.attacks.steps import Story
from tests.stories.judge import judge
from tests.stories.moves import MOVES, PLACES
from tests.stories.telling import Telling, report_of

LONGEST = 30  # moves


def prepare() -> None:
    """Make a process as fast as `tests/conftest.py` makes one of the tests."""
    number_code.HASH_COST = 2  # its hashes are slow on purpose
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def played(number: int, seed: str) -> tuple[Story, Exception] | None:
    """Play a story that a number determines, and return it if it fails."""
    draws = random.Random(f"{seed} {number}")
    telling = Telling(draws.choice(list(PLACES.values())))
    try:
        for _ in range(draws.randint(4, LONGEST)):
            possible = [each for each in MOVES.values() if not telling.why_not(each)]
            telling.do(draws.choice(possible))
        judge(telling.town)
    except Exception as wrong:
        return tuple(telling.story), wrong
    return None


def main(given: list[str]) -> int:
    """Return the exit status: 1 if a story fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.stories")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args(given)
    failed: list[tuple[Story, Exception]] = []
    with ProcessPoolExecutor(os.cpu_count(), initializer=prepare) as pool:
        stories = pool.map(partial(played, seed=options.seed), range(options.count), chunksize=5)
        failed.extend(found for found in stories if found is not None)
    sys.stdout.write(
        f"stories: {options.count - len(failed)} of {options.count} keep all promises" + "\n"
    )
    if failed:
        sys.stdout.write(report_of(*min(failed, key=lambda found: len(found[0]))) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
