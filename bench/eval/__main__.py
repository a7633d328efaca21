"""`make eval`: play each situation with a model, judge it by code, and print a table.

`OPENAI_BASE_URL` and `OPENAI_API_KEY` say where the model is. With `--scripted`, a model follows
the scripts of the situations instead, to try the eval itself.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from typing import IO

from bench.api import CallRefusedError
from bench.eval.scripted import ScriptedModel, scripted_model
from bench.eval.situation import Check, Situation
from bench.eval.situations import SITUATIONS
from bench.eval.stage import Stage, stage
from local.errors import LocalError
from skein.errors import SkeinError

NO_MODEL = """\
eval: no model. Set OPENAI_API_KEY or OPENAI_BASE_URL, and MODEL to the name of the model.
To try the eval itself without a model: make eval SCRIPTED=right"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one situation.

    Attributes:
        checks: What was expected, and whether it was met.
        problem: Why the situation could not be played; None if it was.
        tokens: The tokens of the model's input and output in answers to people.
    """

    situation: Situation
    checks: tuple[Check, ...] = ()
    problem: str | None = None
    tokens: int = 0

    @property
    def passed(self) -> bool:
        """Whether all expectations were met."""
        return self.problem is None and bool(self.checks) and all(c.met for c in self.checks)

    @property
    def missing(self) -> str:
        """What was expected and not met."""
        if self.problem is not None:
            return self.problem
        return "; ".join(check.expected for check in self.checks if not check.met)


def play(
    situation: Situation,
    *,
    base_url: str | None,
    api_key: str | None,
    model: str | None,
    script: tuple[ScriptedModel, str] | None = None,
) -> Outcome:
    """Play one situation on a stack of its own and judge it.

    Args:
        base_url: The URL of the model's API; None for OpenAI's own.
        api_key: The key of the API; None if it takes none.
        model: The name of the model for all work; None for Skein's default models.
        script: The scripted model and `right` or `wrong`; None with a real model.
    """
    names = ("SKEIN_DEFAULT_MODEL", "SKEIN_LIGHT_MODEL")
    settings = {} if model is None else dict.fromkeys(names, model)
    try:
        with stage(base_url=base_url, api_key=api_key, settings=settings) as played:
            if script is not None:
                scripted, kind = script
                scripted.learn(situation.right if kind == "right" else situation.wrong, played)
            checks = tuple(situation.play(played))
            return Outcome(situation, checks, tokens=_tokens(played))
    except (CallRefusedError, LocalError, SkeinError, OSError) as error:
        return Outcome(situation, problem=f"not played: {error}")


def _tokens(played: Stage) -> int:
    usage = played.admin("GET", "/v1/usage")
    return int(usage["input_tokens"] + usage["output_tokens"])


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Return the lines of the printed table: one for each situation, then the sum by ability."""
    width = max(len(outcome.situation.name) for outcome in outcomes)
    for outcome in outcomes:
        mark = "pass" if outcome.passed else "FAIL"
        line = f"{mark}  {outcome.situation.name:{width}}  {outcome.tokens:>7,}  {outcome.missing}"
        yield line.rstrip()
    yield ""
    for ability in dict.fromkeys(outcome.situation.ability for outcome in outcomes):
        of_it = [each.passed for each in outcomes if each.situation.ability == ability]
        yield f"{sum(of_it):>3} of {len(of_it):<3} {ability}"
    yield f"{sum(each.passed for each in outcomes):>3} of {len(outcomes):<3} in all"


def main(arguments: Sequence[str]) -> int:
    """Play the chosen situations and print the table; return the exit status.

    The status is 1 if there is no model, or if a situation could not be played.
    """
    parser = argparse.ArgumentParser(prog="make eval", description=__doc__)
    parser.add_argument("--model", help="the model for all work")
    parser.add_argument("--scripted", choices=("right", "wrong"))
    parser.add_argument("--only", default="", help="a part of the name or ability of situations")
    parser.add_argument("--times", type=int, default=1, help="how often each situation is played")
    options = parser.parse_args(arguments)
    chosen = [each for each in SITUATIONS if options.only in f"{each.ability}: {each.name}"]
    base_url = os.environ.get("OPENAI_BASE_URL") or None
    api_key = os.environ.get("OPENAI_API_KEY") or None
    if not chosen:
        print(f"eval: no situation matches {options.only!r}", file=sys.stderr)
        return 1
    if options.scripted is None and base_url is None and api_key is None:
        print(NO_MODEL, file=sys.stderr)
        return 1
    outcomes: list[Outcome] = []
    with ExitStack() as parts:
        script: tuple[ScriptedModel, str] | None = None
        if options.scripted is not None:
            scripted = parts.enter_context(scripted_model())
            script, base_url, api_key = (scripted, options.scripted), scripted.base_url, None
        log = parts.enter_context(_log())
        console = sys.stdout
        for situation in chosen * options.times:
            with redirect_stdout(log):
                outcome = play(
                    situation,
                    base_url=base_url,
                    api_key=api_key,
                    model=options.model if script is None else None,
                    script=script,
                )
            outcomes.append(outcome)
            print("." if outcome.passed else "F", end="", file=console, flush=True)
    print("\n")
    print("\n".join(table(outcomes)))
    return 1 if any(outcome.problem for outcome in outcomes) else 0


def _log() -> IO[str]:
    """Open a file for what the functions log, which is deleted at the end."""
    return tempfile.TemporaryFile("w", prefix="skein-eval-", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
