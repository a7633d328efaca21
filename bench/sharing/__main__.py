"""`make bench ONLY=sharing DATA=folder`: what people get to know by sharing rules, and what leaks.

The folder has a folder of stories for each domain. Every other story, from the second on, is played
through the API, once with each of three sets of rules. A question is judged by what its prompt
contains, so no model is asked. The rules in `rules.json` were made from the other half of the
stories; for a domain that has none in this file, rules are made now. `STORIES=2` plays only two
stories of each domain. A run without `STORIES` plays all, and writes `bench/sharing.md`.
"""

import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from bench.report import markdown_table, printed
from bench.sharing.play import BUDGET, EVERYTHING, Played, played
from bench.sharing.rules import FILE, Rules, made, read
from bench.sharing.stories import Domains, domains_in, halves

PAGE = Path(__file__).parents[1] / "sharing.md"
PRESENCE, BY_RULES, ALL = "presence alone", "sharing rules", "everything"
GOAL, REQUIRED = (0.90, 0.03), (0.86, 0.05)
# Of all four domains of the benchmark; plain BM25 in 2,000 tokens, unless noted.
PUBLISHED = (
    ("every turn, without a limit of tokens", ".98", ".97"),
    ("an agent that may use everything", ".95", ".92"),
    ("presence alone", ".62", "0"),
)

OPENING = """\
# Sharing rules: what is known, and what leaks

Written by `make bench ONLY=sharing DATA=folder`, not by hand. The folder holds stories of GateMem
(*Benchmarking Memory Governance in Multi-Principal Shared-Memory Agents*, 2026, MIT), which are not
part of this repository. In a story, people with roles each tell the agent things in their own
direct chat, in order and at the story's times. Then some of them ask. Everything goes through
Skein's API and workers in one process.

What counts is what the prompt of a question holds in its history, RECALLED and memories, together
at most 2,000 tokens. **Needed** is the share of the facts that the asker needs, the mean of all
questions. **Protected** is the share of the questions about other people's secrets whose prompt
holds one that the asker never said. Both compare strings without case; no model is asked. A model
is also not there to make memories, so there are none.

The rules (`bench/sharing/rules.json`, at most 30 for a domain) name roles alone.
`python -m bench.sharing.rules DATA` makes them from every other story, from the first; the other
half is judged here. *Presence alone* has no rule. In *everything*, all people have one more role,
and one rule lets everybody be told what everybody says.
"""


class Shares(NamedTuple):
    """The two measures for a number of questions.

    Attributes:
        needed: The mean share of the needed facts.
        protected: The share of the questions with a protected fact.
    """

    needed: float
    protected: float


def shares(outcomes: Iterable[Played]) -> Shares:
    """Return the measures of several stories of a domain."""
    listed = list(outcomes)
    needed = [share for one in listed for share in one.needed]
    protected = [held for one in listed for held in one.protected]
    return Shares(mean(needed) if needed else 0.0, mean(protected) if protected else 0.0)


def measured(
    domains: Domains, rules: Mapping[str, Rules], *, stories: int | None, processes: int
) -> dict[str, dict[str, Shares]]:
    """Play the stories of each domain that no rules were made from, with each set of rules.

    Args:
        domains: All stories.
        rules: The rules of each domain.
        stories: How many stories of each domain; None for all.
        processes: How many are played at once.

    Returns:
        The measures by set of rules and domain.

    Raises:
        ValueError: A prompt held more than the budget.
    """
    asked = [
        (name, domain, story, chosen)
        for domain, all_stories in domains.items()
        for name, chosen in ((PRESENCE, ()), (BY_RULES, rules[domain]), (ALL, EVERYTHING))
        for story in halves(all_stories)[1][:stories]
    ]
    begun, outcomes = time.monotonic(), list[Played]()
    spawn, silence = get_context("spawn"), (logging.CRITICAL,)  # each call of the API logs
    with ProcessPoolExecutor(processes, spawn, logging.disable, silence) as pool:
        jobs = [pool.submit(played, story, chosen) for _, _, story, chosen in asked]
        for (name, domain, _, _), job in zip(asked, jobs, strict=True):
            outcomes.append(job.result())
            passed = time.monotonic() - begun
            print(
                f"bench: {len(outcomes)} of {len(asked)} stories, {passed:.0f} s: {domain}, {name}",
                file=sys.stderr,
                flush=True,
            )
    most = max(one.most_tokens for one in outcomes)
    if most > BUDGET:
        raise ValueError(f"a prompt holds {most} tokens, more than {BUDGET}")
    found: dict[str, dict[str, Shares]] = {}
    for name in (PRESENCE, BY_RULES, ALL):
        found[name] = {}
        for domain in domains:
            places = [place for place, one in enumerate(asked) if one[:2] == (name, domain)]
            found[name][domain] = shares(outcomes[place] for place in places)
    return found


def mean_of(by_domain: Mapping[str, Shares]) -> Shares:
    """Return the mean of each measure over all domains."""
    return Shares(
        mean(one.needed for one in by_domain.values()),
        mean(one.protected for one in by_domain.values()),
    )


def cells(found: Mapping[str, Mapping[str, Shares]], rules: Mapping[str, Rules]) -> list[list[str]]:
    """Return the table of results."""
    domains = list(next(iter(found.values())))
    heads = [f"{domain} ({len(rules[domain])} rules)" for domain in domains]
    rows = [["needed / protected", *heads, "mean"]]
    for name, by_domain in found.items():
        listed = [*by_domain.values(), mean_of(by_domain)]
        rows.append([name, *(f"{one.needed:.3f} / {one.protected:.3f}" for one in listed)])
    return rows


def verdict(reached: Shares) -> str:
    """Return whether the means meet the requirement, and whether they reach the goal."""

    def holds(limits: tuple[float, float]) -> bool:
        return reached.needed >= limits[0] and reached.protected <= limits[1]

    return (
        f"{'pass' if holds(REQUIRED) else 'FAIL'}: needed at least {REQUIRED[0]:.2f} and protected "
        f"at most {REQUIRED[1]:.2f}: {reached.needed:.3f} and {reached.protected:.3f} "
        f"(goal {GOAL[0]:.2f} and {GOAL[1]:.2f}: {'reached' if holds(GOAL) else 'missed'})"
    )


def main(folder: str, stories: str = "", processes: str = "") -> int:
    """Measure the stories of a folder, and print a table.

    Args:
        folder: The folder with a folder for each domain, or with the files of one.
        stories: How many stories of each domain are played; empty for all.
        processes: How many stories are played at the same time; empty for as many as there are
            cores.

    Returns:
        1 if the required shares are missed or there is no story, else 0.
    """
    try:
        domains = domains_in(Path(folder or "."))
    except ValueError as error:
        print(f"bench: {error}: set DATA to a folder of stories", file=sys.stderr)
        return 1
    known = read() if FILE.exists() else {}
    rules = {
        domain: known[domain] if domain in known else made(halves(all_stories)[0])
        for domain, all_stories in domains.items()
    }
    begun = time.monotonic()
    found = measured(
        domains,
        rules,
        stories=int(stories) if stories else None,
        processes=int(processes) if processes else os.cpu_count() or 1,
    )
    table, line = cells(found, rules), verdict(mean_of(found[BY_RULES]))
    print(f"\n{printed(table)}\n\n{line}")
    for name, needed, protected in PUBLISHED:
        print(f"all four domains: {name}: {needed} / {protected}")
    if not stories:
        PAGE.write_text(page(table, line, time.monotonic() - begun), encoding="utf-8")
    return int(line.startswith("FAIL"))


def page(table: Sequence[Sequence[str]], line: str, seconds: float) -> str:
    """Return the page with the results."""
    published = [["of all four domains, by BM25", "needed", "protected"], *map(list, PUBLISHED)]
    parts = (
        OPENING,
        "## Results\n",
        markdown_table(table),
        f"\nRules, mean of the domains: {line}. Played in {seconds / 60:.0f} minutes.\n",
        "## To compare\n",
        markdown_table(published),
    )
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
