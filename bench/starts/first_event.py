"""One container: an interpreter that imports a function's module and handles a first event.

`python -m bench.starts.first_event MODULE SCENE` prints one line of JSON: the processor time of the
import and of the event, the modules loaded after each, and what a snapshot of the container between
the two would contain. For each port that the function uses, the real port is created with its
client, and called once at an endpoint that doesn't answer. After that, a port in memory does the
work.
"""

import importlib
import json
import pickle
import sys
import time
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date, datetime

    from skein.models.delivery.sms import OutgoingSms, SentSms
    from skein.models.runs.completion import ModelAnswer, ModelRequest
    from skein.ports import Clock, LanguageModel, Queues, RegisterTable, Secrets, Sms, Table

NOBODY = "http://127.0.0.1:9"  # nothing listens on the port of `discard`
REMAINING_MILLISECONDS = 60_000
REFUSED = 400  # the lowest status of a refusal


class Context:
    """The context object that Lambda passes with an invocation."""

    function_name = "bench"
    memory_limit_in_mb = 1_024
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"
    aws_request_id = "52fdfc07-2182-154f-163f-5f0f9a621d72"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the time-out."""
        return REMAINING_MILLISECONDS


class TriedModel:
    """A model that first calls the real, unreachable model, and then answers in memory."""

    def __init__(self, real: "LanguageModel", answering: "LanguageModel") -> None:
        self._real, self._answering = real, answering

    def complete(self, request: "ModelRequest") -> "ModelAnswer":
        """See `skein.ports.LanguageModel`."""
        _in_vain(lambda: self._real.complete(request))
        return self._answering.complete(request)

    def stream(self, request: "ModelRequest", heard: "Callable[[str], None]") -> "ModelAnswer":
        """See `skein.ports.LanguageModel`."""
        _in_vain(lambda: self._real.stream(request, heard))
        return self._answering.stream(request, heard)


class TriedSms:
    """An SMS provider that first calls the real but unreachable one, and then sends in memory."""

    def __init__(self, real: "Sms", taking: "Sms") -> None:
        self._real, self._taking = real, taking

    def send(self, sms: "OutgoingSms") -> "SentSms":
        """See `skein.ports.Sms`."""
        _in_vain(lambda: self._real.send(sms))
        return self._taking.send(sms)

    def has_number(self, phone: str, channel: str = "sms") -> bool:
        """See `skein.ports.Sms`."""
        return self._taking.has_number(phone, channel)

    def was_reassigned(self, phone: str, *, since: "date") -> bool:
        """See `skein.ports.Sms`."""
        return self._taking.was_reassigned(phone, since=since)

    def find(self, sms: "OutgoingSms", *, since: "datetime") -> "tuple[SentSms, ...]":
        """See `skein.ports.Sms`."""
        return self._taking.find(sms, since=since)

    def media(self, url: str, *, max_bytes: int) -> bytes | None:
        """See `skein.ports.Sms`."""
        return self._taking.media(url, max_bytes=max_bytes)


def _in_vain(call: Any) -> None:
    from skein.errors import Unavailable

    try:
        call()
    except Unavailable:
        return
    raise AssertionError("an endpoint answered that should be unreachable")


def use_first_app(told: dict[str, Any]) -> None:
    """Give the function an app that creates a real port whenever the function asks for it.

    Args:
        told: The fields of a `bench.starts.first_events.Scene`.
    """
    from datetime import datetime
    from functools import cached_property

    from skein import bootstrap
    from skein.bootstrap.ports import Ports
    from skein.bootstrap.wiring import App
    from skein.settings import Settings

    class FirstPorts(Ports):
        @cached_property
        def clock(self) -> "Clock":
            _ = super().clock
            from tests.fakes.system import FixedClock

            return FixedClock(datetime.fromisoformat(told["now"]))

        @cached_property
        def table(self) -> "Table":
            real = super().table
            from skein.models.common.storage import Key, Put
            from tests.fakes.table import MemoryTable

            _in_vain(lambda: real.get(Key("nobody", "answers")))
            table = MemoryTable(self.clock)
            for item in told["items"]:
                table.write(Put(Key(item["pk"], item["sk"]), item))
            return table

        @cached_property
        def erasure_register(self) -> "RegisterTable":
            _ = super().erasure_register
            from tests.fakes.table import MemoryTable

            return MemoryTable(self.clock)

        @cached_property
        def queues(self) -> "Queues":
            _ = super().queues
            from tests.fakes.system import MemoryQueues

            return MemoryQueues(self.clock)

        @cached_property
        def secrets(self) -> "Secrets":
            _ = super().secrets
            from tests.fakes.sms import MemorySecrets

            return MemorySecrets(told["secrets"])

        @cached_property
        def model(self) -> "LanguageModel":
            real = super().model
            from bench.turns.scripted import Scripted

            return TriedModel(real, Scripted())

        @cached_property
        def sms(self) -> "Sms":
            real = super().sms
            from tests.fakes.sms import MemorySms

            return TriedSms(real, MemorySms(self.clock))

    bootstrap.use(App(FirstPorts(Settings(**told["settings"]))))


def milliseconds() -> float:
    """Return the processor time of this process so far, in milliseconds."""
    return time.process_time() * 1_000


def check(answer: dict[str, Any]) -> None:
    """Check that the event was handled. A refused event would cost less.

    Raises:
        AssertionError: The event was not handled.
    """
    if answer.get("statusCode", REFUSED - 1) >= REFUSED or answer.get("batchItemFailures"):
        raise AssertionError(f"the event was not handled: {answer}")


def restore_hooks() -> "list[Callable[..., object]]":
    """Install Lambda's module for snapshot hooks; return the list of hooks that get registered."""
    hooks: list[Callable[..., object]] = []
    runtime: Any = ModuleType("snapshot_restore_py")
    runtime.__spec__ = ModuleSpec(runtime.__name__, None)
    runtime.register_after_restore = hooks.append
    sys.modules[runtime.__name__] = runtime
    return hooks


def open_sockets() -> int:
    """Return how many sockets this process has open. Works only on Linux."""
    links = [each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    return len([each for each in links if str(each).startswith("socket:")])


def main(module: str, path: str) -> None:
    """Import the module and handle its event, as a new container does."""
    hooks = restore_hooks()
    begun = milliseconds()
    function = importlib.import_module(module)
    import_ms, at_import = milliseconds() - begun, sorted(sys.modules)
    import random

    snapshot = {"sockets": open_sockets(), "seeds": random.seed in hooks}

    told = pickle.loads(Path(path).read_bytes())  # noqa: S301 - our own, and it holds bytes
    begun = milliseconds()
    use_first_app(told)
    answer = function.handler(told["events"][module], Context())
    event_ms, in_all = milliseconds() - begun, sorted(sys.modules)
    check(answer)
    found = {"import_ms": import_ms, "event_ms": event_ms}
    loaded = {"at_import": at_import, "in_all": in_all}
    print(f"\n{json.dumps({**found, **snapshot, **loaded})}")


if __name__ == "__main__":
    main(*sys.argv[1:])
