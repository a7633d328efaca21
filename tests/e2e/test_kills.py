"""Kill the local stack at random while people write: nothing acknowledged is lost or doubled."""

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.api import Api
from bench.load.checks import Verdict, verdicts
from bench.load.found import StoredState, acknowledged_in, ledger_of
from bench.load.people import TENANT, Ledger, Person, RefusedError, World, people
from bench.load.run import drain, places
from bench.load.stand import ModelServer, stored_in
from bench.load.storm import Storm
from local.children import free_port
from local.config import Config
from local.demo import LINE
from local.twilio.sms_log import SmsLog
from tests.e2e.process import LocalProcess
from tests.e2e.watched import WatchedStack
from tests.support.template import deployed_template

PHONES, USERS = 4, 3
PAUSE_SECONDS = 1.0
PATIENCE_SECONDS = 3.0
MAX_LIFE_SECONDS = 4.0  # from the moment in which a stack is ready to its end
DURING_START = 0.25  # the share of stacks that are killed before they are ready
DRAIN_SECONDS = 600.0
SETTINGS = {"SKEIN_AUTO_SUMMARY": "false"}  # otherwise they are due a quarter of an hour later
# A run that was killed three times has failed, as it should.
ATTEMPTS = 3
KILLS = int(os.environ.get("SKEIN_KILLS", "200"))


@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("kills", [1, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_killed_stack_loses_and_duplicates_no_message(tmp_path: Path, kills: int) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    drawn = random.Random(seed)
    data, ledger = tmp_path / "data", tmp_path / "ledger.jsonl"
    ledger.touch()
    with ModelServer(Storm(f"{seed}")) as model:
        environment = {"OPENAI_BASE_URL": model.base_url, **SETTINGS}
        port = free_port()
        process = LocalProcess(data, port=port, environment=environment)
        try:
            url = process.wait_until_ready()
            there = places(Api(url, TENANT), USERS)
            world = World(
                url,
                LINE,
                time.time() + 86_400,
                Ledger(ledger),
                patience_seconds=PATIENCE_SECONDS,
            )
            everybody = people(
                world, phones=PHONES, places=list(there), pause_seconds=PAUSE_SECONDS, seed=seed
            )
            with _writing(everybody):
                for _ in range(kills):
                    time.sleep(drawn.uniform(0, MAX_LIFE_SECONDS))
                    process.kill()
                    process = LocalProcess(data, port=port, environment=environment)
                    if drawn.random() < DURING_START:
                        time.sleep(drawn.uniform(0, MAX_LIFE_SECONDS / 2))
                    else:
                        process.wait_until_ready()
                process.wait_until_ready()
        finally:
            process.kill()
        found = _at_rest(data, port, model.base_url, acknowledged=ledger)
    assert found.acknowledged
    wrong = [f"{v.check}: {what}" for v in verdicts(found) for what in _wrong(v, found, kills)]
    assert not wrong, f"seed {seed}: {wrong}"


def _wrong(verdict: Verdict, found: StoredState, kills: int) -> list[str]:
    """What a check found, but for runs that may fail because they were killed three times."""
    failed = any(run.status == "failed" for run in found.runs)
    if kills < ATTEMPTS or not failed:
        return list(verdict.wrong)
    if verdict.check == "no run has failed":
        return [what for what in verdict.wrong if "is failed" not in what]
    return [what for what in verdict.wrong if not what.endswith("was answered by 0 runs")]


@contextmanager
def _writing(everybody: list[Person]) -> Iterator[None]:
    """Let people write within the block; each sends a burst, and finishes the current one.

    Raises:
        RefusedError: A message was refused, or not acknowledged in 25 tries.
    """
    over = threading.Event()
    refused: list[RefusedError] = []

    def live(person: Person) -> None:
        try:
            person.burst()
            while not over.wait(PAUSE_SECONDS):
                person.burst()
        except RefusedError as error:
            refused.append(error)

    threads = [threading.Thread(target=live, args=(person,), daemon=True) for person in everybody]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    if refused:
        raise refused[0]


def _at_rest(data: Path, port: int, model_url: str, *, acknowledged: Path) -> StoredState:
    """Start the stack once more, let it finish its work, and return what is stored.

    It has the same port, because the addresses of pictures that are not fetched yet name it.
    """
    config = Config(port=port, data_dir=data, openai_base_url=model_url, settings=SETTINGS)
    with WatchedStack(config, template=deployed_template()) as stack:
        quiet = drain(stack, Api(stack.url, TENANT), DRAIN_SECONDS)
        found = StoredState(acknowledged=acknowledged_in(ledger_of(acknowledged)))
        found.take(stack.engine.all_items())
        names = {q.dead_letters for q in stack.template.queues if q.dead_letters}
        found.dead_letters = {name: stack.engine.dead_letters(name) for name in sorted(names)}
    found.sms, found.stored = SmsLog(data / "texts.jsonl").find(), stored_in(data)
    found.held = 0 if quiet else 1
    return found
