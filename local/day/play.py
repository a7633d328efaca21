"""Play the recorded day in a separate process, with a clock that begins three days ago.

`python -m local.day.play <folder> <offset>` plays the day on a local stack with its data in a new
folder. When all is done, it writes the tour to `tour.json` in this folder, and waits for SIGTERM.
`<offset>` is the offset of the other stack's clock from real time, in seconds: the stack for which
the day is played.
"""

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from local.config import Config
from local.day.actors import Actors
from local.day.recorded_day import TOUR_FILE
from local.day.scripted_model import NAME, ScriptedModel
from local.day.story import DAYS, MEMORIES, Step, Story
from local.files import write_whole
from local.log_file import PRIVATE
from local.stack import CLOCK_FILE, Stack
from skein import bootstrap
from skein.adapters.openai.model import OpenAIModel
from skein.ports import ModelList

FIRST_HOUR = timedelta(hours=8)
NOBODY = "http://127.0.0.1:9/v1"  # no model listens here: the scripted model answers
SETTINGS = {
    "SKEIN_DEFAULT_MODEL": NAME,
    "SKEIN_LIGHT_MODEL": NAME,
    "SKEIN_AUTO_SUMMARY": "false",
}


class _PlayedStack(Stack):
    """A local stack that does not import the client of a model.

    The import would take half a second.
    """

    _libraries = ()

    def _model_list(self, model: OpenAIModel) -> ModelList:
        del model
        return _OneModel()


class _OneModel:
    """List of models (see `skein.ports.ModelList`) that contains only the scripted model."""

    def models(self, *, seconds: float) -> frozenset[str]:
        """Return the name of the scripted model."""
        del seconds
        return frozenset({NAME})


def _tokens(text: str) -> int:
    return bootstrap.app().ports.tokens.count(text)


@contextmanager
def playing(folder: Path, ahead: timedelta) -> Iterator[tuple[Actors, list[Step]]]:
    """Play the recorded day on a stack in a folder; yield the actors and the tour.

    Args:
        folder: The data folder. It may already contain the keys of another stack.
        ahead: The offset of the clock of the stack for which the day is played. The day ends at the
            current time of this clock.
    """
    folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    end = datetime.now(UTC) + ahead
    midnight = end.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS)
    offset = (midnight + FIRST_HOUR - datetime.now(UTC)).total_seconds()
    write_whole(folder / CLOCK_FILE, repr(offset).encode())
    model = ScriptedModel(MEMORIES, count=_tokens)
    config = Config(port=0, data_dir=folder, openai_base_url=NOBODY, settings=SETTINGS)
    with _PlayedStack(config, model=lambda _: model) as stack:
        actors = Actors(stack.url, stack.respond)
        yield actors, Story(actors, model, midnight).play(end)


def main(arguments: Sequence[str]) -> None:
    """Play the recorded day; the arguments are the folder and the clock's offset."""
    folder, offset = arguments
    with playing(Path(folder), timedelta(seconds=float(offset))) as (_, steps):
        tour = [asdict(step) for step in steps]
    write_whole(Path(folder) / TOUR_FILE, json.dumps(tour).encode())
    signal.pause()  # the parent process ends this one


if __name__ == "__main__":
    main(sys.argv[1:])
