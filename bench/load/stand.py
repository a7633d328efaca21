"""The local stack with its handlers in containers, under injected faults."""

import logging
import random
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.load.containers import Containers, Kind, Setup
from bench.load.model import THROTTLED, Model
from bench.load.storm import Answer, Storm, UnreliableInbox, lossy, shaken
from local.config import LOOPBACK, Config
from local.environment import StackEnvironment
from local.events import Request, Response, json_response
from local.functions import Invoker
from local.polling.poller import Poller
from local.sqlite.engine import SqliteEngine
from local.stack import FILES_FOLDER, Stack
from local.template import Template
from local.timing.clock import TurnableClock
from local.twilio.sms_log import Sms, SmsLog
from local.twilio.webhooks import PREFIX as TWILIO_PREFIX
from local.web.server import Server
from skein.adapters.twilio.sms import READ_SECONDS as TWILIO_SECONDS
from tests.support.converse_wire import front

SIZES: dict[Kind, int] = {"door": 12, "worker": 16}
MAX_CONCURRENCY = 8  # batches of one queue
KILL_SECONDS = 5.0
# The model's time-out is shorter than deployed: three seconds for each of the SDK's two tries.
# Otherwise, lost answers would take most of the three minutes.
MODEL_SECONDS = 8
MODEL_HANG_SECONDS = 3.5
TWILIO_BUSY = json_response(
    HTTPStatus.TOO_MANY_REQUESTS, {"code": 20429, "message": "Too Many Requests", "status": 429}
)
PHONES, APP = "/local/sms", "/v1/"

logger = logging.getLogger(__name__)


class LoadStack(Stack):
    """A local stack whose containers and requests can fail.

    Args:
        storm: Decides which faults are injected.
        seed: The seed of the faults inside containers.
        sizes: The number of containers of each kind.
    """

    def __init__(
        self, config: Config, *, storm: Storm, seed: int, sizes: Mapping[Kind, int] | None = None
    ) -> None:
        super().__init__(
            config, inbox=partial(UnreliableInbox, storm=storm), max_concurrency=MAX_CONCURRENCY
        )
        self._storm = storm
        self._seed = seed
        self._sizes = sizes or SIZES
        self.containers: Containers
        self.engine: SqliteEngine
        self.poller: Poller
        self.clock: TurnableClock

    def _functions(
        self, parts: ExitStack, engine: SqliteEngine, environment: StackEnvironment
    ) -> Invoker:
        folder = self.config.data_dir
        skein = {
            name: value
            for name, value in environment.skein(self.template).items()
            if name.startswith("SKEIN_")
        }
        self.containers = Containers(
            sizes=self._sizes,
            setup=Setup(
                skein,
                clock=str(folder / "clock"),
                data_dir=str(folder),
                files_folder=str(folder / FILES_FOLDER),
                url=self.url,
                seed=f"{self._seed}-container",
            ),
            storm=self._storm,
            log=folder / "containers.log",
        )
        parts.callback(self.containers.stop)
        self.containers.start()
        return self.containers

    def _wired(self, engine: SqliteEngine, poller: Poller, clock: TurnableClock) -> None:
        self.engine, self.poller, self.clock = engine, poller, clock
        self.containers.wake = self._wake
        self._answer = self._unreliable(self._answer)

    def _wake(self) -> None:
        """Let the engine look for jobs and changes that a finished container has made."""
        self.engine.wake()
        self.engine.changed()

    def _unreliable(self, answer: Answer) -> Answer:
        """Wrap the stack's server so that faults lose some calls to Twilio and some requests."""
        twilio = shaken(
            answer,
            self._storm,
            name="twilio",
            throttled=TWILIO_BUSY,
            hang_seconds=TWILIO_SECONDS + 1,
        )

        def respond(request: Request) -> Response:
            if request.path.startswith(TWILIO_PREFIX):
                return twilio(request)
            if request.method == "POST" and request.path.startswith((PHONES, APP)):
                return lossy(answer, self._storm, "people", request)
            return answer(request)

        return respond

    def sms(self) -> list[Sms]:
        """Return the SMS that have reached phones."""
        return SmsLog(self.config.data_dir / "texts.jsonl").find()

    def stored(self) -> list[str]:
        """Return the names of the files in the bucket."""
        return stored_in(self.config.data_dir)

    def dead_letters(self) -> dict[str, int]:
        """Return the number of messages in each dead-letter queue."""
        return dead_letters_of(self.template, self.engine)


def stored_in(data_dir: Path) -> list[str]:
    """Return the names of the files in the bucket of a data folder."""
    folder = data_dir / FILES_FOLDER
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def dead_letters_of(template: Template, engine: SqliteEngine) -> dict[str, int]:
    """Return the number of messages in each dead-letter queue."""
    names = sorted({queue.dead_letters for queue in template.queues if queue.dead_letters})
    return {name: engine.dead_letters(name) for name in names}


class ModelServer:
    """The model behind the APIs of OpenAI and of Bedrock, as a context manager.

    Args:
        storm: Decides which of the model's answers are lost.
    """

    def __init__(self, storm: Storm) -> None:
        self.model = Model()
        answer = shaken(
            self.model.answer,
            storm,
            name="model",
            throttled=THROTTLED,
            hang_seconds=MODEL_HANG_SECONDS,
        )
        self._server = Server(0, front(answer))
        self.url = f"http://{LOOPBACK}:{self._server.port}"
        self.base_url = f"{self.url}/v1"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()


class Killer:
    """Context manager that kills a working container every few seconds.

    Args:
        seconds: The time between two kills.
    """

    def __init__(self, containers: Containers, *, seed: int, seconds: float = KILL_SECONDS) -> None:
        self._containers = containers
        self._random = random.Random(seed)
        self._seconds = seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="killer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._over.wait(self._seconds):
            give_up = time.monotonic() + self._seconds
            while not self._containers.kill_one(self._random):
                if time.monotonic() > give_up or self._over.wait(0.01):
                    break


def config_for(folder: Path, model_url: str, settings: dict[str, str]) -> Config:
    """Return the configuration of a load run's stack."""
    chosen = {
        "SKEIN_MODEL_TIMEOUT_SECONDS": str(MODEL_SECONDS),
        # All people text one line, which sends more than a carrier accepts from one number.
        "SKEIN_LONG_CODE_SEGMENTS_PER_MINUTE": "0",
        **settings,
    }
    return Config(port=0, data_dir=folder, openai_base_url=model_url, settings=chosen)
