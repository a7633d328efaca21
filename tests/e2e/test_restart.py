"""A run that is interrupted by a stop of the local stack is answered after the next start."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.client import Client
from tests.e2e.process import LocalProcess
from tests.support.scripted_openai import Answer, ScriptedOpenAI

PHONE = "+15005550198"
SECONDS = 30.0  # much less than the two minutes of a lease


def wait_for(holds: Callable[[], object], what: str) -> None:
    give_up = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < give_up, what
        time.sleep(0.1)


def test_run_that_a_stop_interrupts_is_answered_after_the_start(tmp_path: Path) -> None:
    late = Answer("Too late.", latency=600)
    with ScriptedOpenAI(late, "Hello.", late, "Hello again.") as model:
        environment = {"OPENAI_BASE_URL": model.base_url}
        process = LocalProcess(tmp_path / "data", environment=environment)
        try:
            client = Client(process.wait_until_ready())
            for number, said in ((signal.SIGTERM, "Hello."), (signal.SIGKILL, "Hello again.")):
                asked = len(model.calls)
                client.text("Hello?", sender=PHONE)
                wait_for(lambda n=asked: len(model.calls) > n, "the model was not asked")  # type: ignore[misc]
                process.end(number)
                process = LocalProcess(tmp_path / "data", environment=environment)
                client = Client(process.wait_until_ready())
                wait_for(lambda: said in client.texts(PHONE), f"no {said!r} after the start")  # noqa: B023
            assert client.texts(PHONE) == ["Hello.", "Hello again."]
        finally:
            process.kill()
