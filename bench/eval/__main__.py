"""`make eval`: play each situation with a model, judge it by code, and print the outcomes.

`OPENAI_BASE_URL` and `OPENAI_API_KEY` say where the model is. With `--scripted`, a scripted model
plays the situations' own scripts, which tests the eval itself. With `--profile single`, the
scripted model calls one tool at a time, as small models do.
"""

import argparse
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import IO

from bench.api import CallRefusedError
from bench.eval import trials
from bench.eval.outcomes import Outcome, keep, kept, line_of, sums
from bench.eval.page import page
from bench.eval.scripted import CONVERSE, ScriptedModel, scripted_model
from bench.eval.situation import Situation
from bench.eval.situations import SITUATIONS
from bench.eval.stage import Stage, stage
from local.errors import LocalError
from local.folders import data_folder
from skein.errors import SkeinError

NO_MODEL = """\
eval: no model. Set OPENAI_API_KEY or OPENAI_BASE_URL, and MODEL to the name of the model.
To try the eval itself without a model: make eval SCRIPTED=right"""
FOLDER = data_folder() / "eval"
STOPPED = 130  # the usual status of a command that Ctrl+C stopped


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
        script: The scripted model, and which of the situation's scripts it plays: `right` or
            `wrong`; None for a real model.
    """
    names = ("SKEIN_DEFAULT_MODEL", "SKEIN_LIGHT_MODEL")
    settings = {} if model is None else dict.fromkeys(names, model)
    if model == CONVERSE and script is not None:
        settings["SKEIN_BEDROCK_ENDPOINT_URL"] = script[0].endpoint
    try:
        with stage(Stage, base_url=base_url, api_key=api_key, settings=settings) as played:
            if script is not None:
                scripted, kind = script
                scripted.learn(situation.right if kind == "right" else situation.wrong, played)
            try:
                outcome = Outcome.of(situation, *situation.play(played))
                outcome = replace(outcome, tokens=_tokens(played), steps=tuple(played.steps()))
            except (CallRefusedError, LocalError, SkeinError, OSError) as error:
                outcome = Outcome.of(situation, problem=f"not played: {error}")
            return replace(outcome, exchanges=tuple(played.exchanges))
    except (CallRefusedError, LocalError, SkeinError, OSError) as error:
        return Outcome.of(situation, problem=f"not played: {error}")


def _tokens(played: Stage) -> int:
    usage = played.admin("GET", "/v1/usage")
    return int(usage["input_tokens"] + usage["output_tokens"])


def main(arguments: Sequence[str], *, folder: Path = FOLDER) -> int:
    """Play the chosen situations, print outcomes as they come, and return the exit status.

    The status is 1 if there is no model, or if a situation could not be played.

    Args:
        folder: Where the outcomes and the page of each model are kept.
    """
    options = _options(arguments)
    chosen = [each for each in SITUATIONS if _is_chosen(each, options.only)]
    base_url = os.environ.get("OPENAI_BASE_URL") or None
    api_key = os.environ.get("OPENAI_API_KEY") or None
    if not chosen:
        print(f"eval: no situation matches {options.only!r}", file=sys.stderr)
        return 1
    if options.scripted == "trials":
        with _log() as log:
            return trials.main(chosen, log)
    if options.scripted is None and base_url is None and api_key is None:
        print(NO_MODEL, file=sys.stderr)
        return 1
    api = "converse" if options.converse else None
    model = "-".join(filter(None, (options.scripted, options.profile, api))) or options.model
    model = model or "default"
    store = folder / f"{re.sub(r'[^A-Za-z0-9.-]', '_', model)}.jsonl"
    shown = store.with_suffix(".html")
    store.parent.mkdir(parents=True, exist_ok=True)
    names = {each.name for each in chosen}
    earlier = [each for each in kept(store) if options.resume or each.name not in names]
    store.unlink(missing_ok=True)
    for outcome in earlier:
        keep(outcome, store)
    outcomes = [each for each in earlier if each.name in names]
    others = [each for each in earlier if each.name not in names]
    counted = Counter(each.name for each in outcomes)
    left = [each for turn in range(options.times) for each in chosen if counted[each.name] <= turn]
    with ExitStack() as parts:
        script: tuple[ScriptedModel, str] | None = None
        if options.scripted is not None:
            scripted = parts.enter_context(scripted_model(single=options.profile == "single"))
            script, base_url, api_key = (scripted, options.scripted), scripted.base_url, None
        log = parts.enter_context(_log())
        width = max(map(len, names))
        stopped = False
        for situation in left:
            try:
                with redirect_stdout(log):
                    outcome = play(
                        situation,
                        base_url=base_url,
                        api_key=api_key,
                        model=CONVERSE if options.converse else options.model,
                        script=script,
                    )
            except KeyboardInterrupt:
                stopped = True
                break
            outcomes.append(outcome)
            if outcome.problem is None:  # otherwise a resumed eval plays it again
                keep(outcome, store)
            print(line_of(outcome, width), flush=True)
            shown.write_text(page(model, [*outcomes, *others]), encoding="utf-8")
    print("", *sums(outcomes), f"\nPrompts and answers: {shown}", sep="\n")
    if stopped:
        print("Stopped. To continue: the same command with RESUME=1")
        return STOPPED
    return 1 if any(outcome.problem for outcome in outcomes) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make eval", description=__doc__)
    parser.add_argument("--model", help="the model for all work")
    parser.add_argument("--scripted", choices=("right", "wrong", "trials"))
    parser.add_argument("--profile", choices=("single",), help="how a scripted model calls tools")
    parser.add_argument("--only", default="", help="parts of names or abilities, with commas")
    parser.add_argument("--times", type=int, default=1, help="how often each situation is played")
    parser.add_argument("--resume", action="store_true", help="keep the outcomes of a stopped eval")
    parser.add_argument("--converse", action="store_true", help="script a model of Bedrock")
    options = parser.parse_args(arguments)
    if options.scripted is not None or options.profile is not None:
        options.model = None
    if options.profile and options.scripted is None:
        options.scripted = "right"
    return options


def _is_chosen(situation: Situation, only: str) -> bool:
    parts = (part.strip() for part in only.split(","))
    return any(part in f"{situation.ability}: {situation.name}" for part in parts)


def _log() -> IO[str]:
    """Open a temporary file for the log of the functions, which is deleted at the end."""
    return tempfile.TemporaryFile("w", prefix="skein-eval-", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
