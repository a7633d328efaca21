"""Outcomes of situations: judged, tabulated, and kept in a file so that an eval can continue."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.eval.recording import AGENT_SUMMARY, ANSWER, Exchange
from bench.eval.repeats import repeats_of
from bench.eval.situation import Missing, Situation
from skein.agent.tools.send_message import ASKED

# The result of a call that posted nothing. A question in the chat of the prompt has a number.
_ASKED = re.compile(re.escape(ASKED.split("{place}")[0]) + r"(msg:\d+|another chat)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one situation.

    Attributes:
        name: The name of the situation.
        ability: The ability that it tests.
        checks: For each expectation, what is missing; None if it was met.
        problem: Why the situation could not be played; None if it was.
        tokens: The tokens of the model's input and output in answers to people.
        exchanges: The prompts and answers of the model.
        steps: How often each run called the model; runs that used a reading tool are left out.
    """

    name: str
    ability: str
    checks: tuple[Missing, ...] = ()
    problem: str | None = None
    tokens: int = 0
    exchanges: tuple[Exchange, ...] = ()
    steps: tuple[int, ...] = ()

    @classmethod
    def of(cls, situation: Situation, *checks: Missing, problem: str | None = None) -> "Outcome":
        """Return the outcome of a situation, without its counts and exchanges."""
        return cls(situation.name, situation.ability, checks, problem)

    @property
    def passed(self) -> bool:
        """Whether all expectations were met."""
        return self.problem is None and bool(self.checks) and not any(self.checks)

    @property
    def summaries(self) -> int:
        """The number of agent summaries that the model was asked for."""
        return sum(each.kind == AGENT_SUMMARY for each in self.exchanges)

    @property
    def asked_to_post(self) -> int:
        """How often an agent asked a person for consent before it posted in another chat."""
        found = (_ASKED.findall(each.prompt) for each in self.exchanges if each.kind == ANSWER)
        return len({question for prompt in found for question in prompt})

    @property
    def missing(self) -> str:
        """The expectations that were not met, in words."""
        if self.problem is not None:
            return self.problem
        return "; ".join(filter(None, self.checks))


def keep(outcome: Outcome, path: Path) -> None:
    """Append an outcome to a file of outcomes."""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(asdict(outcome))}\n")


def kept(path: Path) -> list[Outcome]:
    """Return the outcomes in a file; an empty list if the file does not exist.

    A line that is incomplete, because the eval was stopped while writing it, is left out.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [_outcome(line) for line in lines if line.endswith("}\n")]


def _outcome(line: str) -> Outcome:
    stored = json.loads(line)
    stored["checks"] = tuple(stored["checks"])
    stored["steps"] = tuple(stored["steps"])
    stored["exchanges"] = tuple(Exchange(**each) for each in stored["exchanges"])
    return Outcome(**stored)


def line_of(outcome: Outcome, width: int) -> str:
    """Return the line that is printed when a situation has been played.

    Args:
        width: The width of the column of names.
    """
    mark = "pass" if outcome.passed else "FAIL"
    calls = f"{sum(outcome.steps):>2} calls/{len(outcome.steps):>2} runs"
    counts = f"{outcome.tokens:>7,}  {calls}  {outcome.summaries:>2} summaries"
    return f"{mark}  {outcome.name:{width}}  {counts}  {outcome.missing}".rstrip()


def sums(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Return the last lines: how often repeated situations passed, and sums over all situations."""
    by_name: dict[str, list[bool]] = {}
    for outcome in outcomes:
        by_name.setdefault(outcome.name, []).append(outcome.passed)
    if len(by_name) < len(outcomes):
        for name, passed in by_name.items():
            yield f"{sum(passed):>3} of {len(passed):<3} {name}"
        yield ""
    for ability in dict.fromkeys(outcome.ability for outcome in outcomes):
        of_it = [each.passed for each in outcomes if each.ability == ability]
        yield f"{sum(of_it):>3} of {len(of_it):<3} {ability}"
    yield f"{sum(each.passed for each in outcomes):>3} of {len(outcomes):<3} in all"
    steps = [count for each in outcomes for count in each.steps]
    if steps:
        mean, runs = sum(steps) / len(steps), len(steps)
        yield f"{mean:.2f} calls of the model a run, in {runs} runs without a reading tool"
    yield f"{sum(each.summaries for each in outcomes)} agent summaries"
    repeats = [count for each in outcomes for count in repeats_of(each.exchanges)]
    yield f"{sum(repeats)} facts shown twice, in {len(repeats)} prompts of runs"
    asked = sum(each.asked_to_post for each in outcomes)
    yield f"{asked} times a yes was asked for before a post in another chat"
