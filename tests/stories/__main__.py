"""Play generated stories: `make stories N=10000`; print the shortest of those that fail."""

import argparse
import gc
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from skein.models.directory import number_code
from tests.attacks.steps import Story
from tests.stories.searches import SEARCHES
from tests.stories.telling import report_of


def prepare() -> None:
    """Make a process as fast as `tests/conftest.py` makes one of the tests."""
    number_code.HASH_COST = 2  # its hashes are slow on purpose
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def played(number: int, search: str, seed: str) -> tuple[Story, Exception] | None:
    """Play a story that a number determines, and return it if it fails."""
    story = SEARCHES[search].story(f"{seed} {number}")
    try:
        wrong: Exception | None = SEARCHES[search].finds(story)
    except Exception as broken:
        wrong = broken
    return (story, wrong) if wrong is not None else None


def main(given: list[str]) -> int:
    """Return the exit status: 1 if a story fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.stories")
    parser.add_argument("count", type=int)
    parser.add_argument("--search", choices=SEARCHES, default="promises")
    parser.add_argument("--seed", default="1")
    options = parser.parse_args(given)
    play = partial(played, search=options.search, seed=options.seed)
    failed: list[tuple[Story, Exception]] = []
    with ProcessPoolExecutor(os.cpu_count(), initializer=prepare) as pool:
        stories = pool.map(play, range(options.count), chunksize=5)
        for number, found in enumerate(stories):
            if found is not None:
                failed.append(found)
                sys.stdout.write(f"story {number} fails: {found[1]}\n")
                sys.stdout.flush()
    kept = f"{options.count - len(failed)} of {options.count}"
    sys.stdout.write(f"stories: {kept} have no {SEARCHES[options.search].what}\n")
    if failed:
        shortest, wrong = min(failed, key=lambda found: len(found[0]))
        sys.stdout.write(report_of(shortest, wrong, SEARCHES[options.search].finds) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
