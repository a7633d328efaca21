"""Print the modules that one SMS and its answer pass through: `python -m tools.reference.one_sms`.

The functions of the webhook, the run and the delivery handle the SMS, on ports in memory. The SMS
is played twice. Only the second time counts, because all modules are loaded by then.
"""

import logging
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import run_worker
import sms_delivery
import sms_webhook
from skein import bootstrap
from skein.models.outbox.jobs import QueueName
from tests.support.api_client import Context, recorded
from tests.support.builders import World
from tests.support.webhooks import Webhook, signed_world

ROOT = Path(__file__).resolve().parents[2]
CODE = (f"{ROOT}/shared/skein/", f"{ROOT}/functions/")
IN_MEMORY = f"{ROOT}/shared/skein/adapters/sqlite_table/"  # the fake's; a function uses DynamoDB
WEBHOOK: ModuleType = sms_webhook
WORKERS: dict[QueueName, ModuleType] = {"turns": run_worker, "deliveries": sms_delivery}


@dataclass
class Walk:
    """The calls of functions in Skein's code, in order.

    Attributes:
        modules: The number of calls into each module, in the order of the first calls.
        functions: The functions that were called.
        moves: The number of calls from one module into another.
    """

    modules: Counter[str] = field(default_factory=Counter)
    functions: set[CodeType] = field(default_factory=set)
    moves: int = 0

    def add(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call. This is a profiling function for `sys.setprofile`."""
        code = frame.f_code
        if event != "call" or not _is_ours(code) or code.co_name == "<module>":
            return
        caller = frame.f_back
        while caller is not None and not _is_ours(caller.f_code):
            caller = caller.f_back
        self.moves += caller is None or caller.f_code.co_filename != code.co_filename
        self.modules[code.co_filename.removeprefix(f"{ROOT}/")] += 1
        self.functions.add(code)

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record the calls within the block, without those that write logs."""
        disabled = logging.root.manager.disable
        logging.disable()
        sys.setprofile(self.add)
        try:
            yield
        finally:
            sys.setprofile(None)
            logging.disable(disabled)


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(CODE) and not code.co_filename.startswith(IN_MEMORY)


class Invocation(Context):
    """The context object of an invocation that has enough time for a model's answer."""

    def get_remaining_time_in_millis(self) -> int:
        """Return one minute in milliseconds."""
        return 60_000


def play(world: World) -> None:
    """Receive an SMS, run the agent and deliver the answer, with the deployed functions."""
    bootstrap.use(world.app)
    WEBHOOK.handler(Webhook.recorded("sms_webhook").signed(), Invocation(WEBHOOK))
    for queue, worker in WORKERS.items():
        world.clock.set(max(waiting.due_at for waiting in world.queues.waiting(queue)))
        for job in world.queues.ready(queue):
            record = recorded("sms_delivery")["Records"][0] | {"body": job.model_dump_json()}
            worker.handler({"Records": [record]}, Invocation(worker))


def walk() -> Walk:
    """Return the calls for a person's first SMS and its answer."""
    play(signed_world())
    found, world = Walk(), signed_world()
    with found.recorded():
        play(world)
    return found


if __name__ == "__main__":
    logging.disable()
    found = walk()
    for path, calls in found.modules.items():
        print(f"{calls:5} {path}")
    print(f"{len(found.modules)} modules, {len(found.functions)} functions, {found.moves} moves")
