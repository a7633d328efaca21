"""Lambda's side of the functions: awslambdaric processes on a read-only tree.

The emulator posts each invocation to `FunctionHost`. The host keeps processes of Lambda's own
runtime client, each with the deployed environment of its function, and speaks the runtime API to
them. A process runs in a mount namespace in which the layer is `/opt` and nothing can be written
there or in the function's folder.
"""

import contextlib
import json
import os
import queue
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local.children import end_process
from tools.rehearsal.outside import LOOPBACK, Handler, Server

API = "/2018-06-01/runtime"
INVOCATION_SECONDS = 60.0
STOP_SECONDS = 5.0
FUNCTION = "x-amzn-lambda-function-name"
MOUNTS = (
    'mount --bind "$LAYER" /opt && mount -o remount,bind,ro /opt && '
    'mount --bind "$LAMBDA_TASK_ROOT" "$LAMBDA_TASK_ROOT" && '
    'mount -o remount,bind,ro "$LAMBDA_TASK_ROOT" && cd "$LAMBDA_TASK_ROOT" && exec "$@"'
)


class InvocationError(Exception):
    """A function failed; the message is the runtime client's report."""


@dataclass(frozen=True)
class Deployed:
    """A function as it is deployed.

    Attributes:
        name: The name of the function.
        arn: Its ARN.
        handler: Its handler, such as `tick.handler`.
        memory: Its memory in MB.
        environment: Its environment variables.
    """

    name: str
    arn: str
    handler: str
    memory: int
    environment: Mapping[str, str]


def namespaces() -> bool:
    """Return whether this machine can give a process its own mounts."""
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    return done.returncode == 0


@dataclass
class _Job:
    event: Any
    arn: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    done: threading.Event = field(default_factory=threading.Event)
    result: bytes = b""
    failed: bool = False


class Worker:
    """One process of a function, with the runtime API that it polls.

    Args:
        function: The function.
        command: The command of the runtime client.
        environment: The environment of the process.
        log: The file of its output.
    """

    def __init__(
        self, function: Deployed, command: list[str], environment: Mapping[str, str], log: Path
    ) -> None:
        self.function = function
        self.log = log
        self._jobs: queue.Queue[_Job] = queue.Queue()
        self._running: dict[str, _Job] = {}
        self._ended = contextlib.ExitStack()
        self.init_error = ""
        port = self._ended.enter_context(Server(self._handler()).running())
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                env={**environment, "AWS_LAMBDA_RUNTIME_API": f"{LOOPBACK}:{port}"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _handler(self) -> type[Handler]:
        worker = self

        class RuntimeApi(Handler):
            def do_GET(self) -> None:  # noqa: N802 - the base class's name
                job = worker._jobs.get()
                worker._running[job.id] = job
                data = json.dumps(job.event).encode()
                self.send_response(200)
                deadline = int((time.time() + INVOCATION_SECONDS) * 1000)
                for name, value in {
                    "Lambda-Runtime-Aws-Request-Id": job.id,
                    "Lambda-Runtime-Deadline-Ms": str(deadline),
                    "Lambda-Runtime-Invoked-Function-Arn": job.arn,
                    "Content-Type": "application/json",
                    "Content-Length": str(len(data)),
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self) -> None:  # noqa: N802 - the base class's name
                body = self.body()
                parts = self.path.removeprefix(f"{API}/").split("/")
                if parts[0] == "init":
                    worker.init_error = body.decode(errors="replace")
                elif (job := worker._running.pop(parts[1], None)) is not None:
                    job.result, job.failed = body, parts[2] == "error"
                    job.done.set()
                self.reply(202, {"status": "OK"})

        return RuntimeApi

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def invoke(self, event: Any, arn: str) -> Any:
        """Invoke the function once.

        Raises:
            InvocationError: The function failed, timed out, or its process ended.
        """
        job = _Job(event, arn)
        self._jobs.put(job)
        end = time.monotonic() + INVOCATION_SECONDS
        while not job.done.wait(0.1):
            if not self.alive:
                raise InvocationError(self.init_error or f"the process ended; see {self.log}")
            if time.monotonic() > end:
                raise InvocationError(f"no response within {INVOCATION_SECONDS:.0f} s")
        if job.failed:
            raise InvocationError(job.result.decode(errors="replace"))
        return json.loads(job.result or b"null")

    def stop(self) -> None:
        """End the process and its runtime API."""
        end_process(self._process, STOP_SECONDS)
        self._ended.close()


class FunctionHost:
    """Host of all functions, behind the URL to which the emulator posts invocations.

    Args:
        python: The runtime client's Python.
        layer: The folder that becomes `/opt`.
        code: The folder of the functions' code.
        logs: The folder of the processes' output.
        lookup: Returns a deployed function by its name.
        change: Replaces addresses in a function's environment.
    """

    def __init__(
        self,
        *,
        python: Path,
        layer: Path,
        code: Path,
        logs: Path,
        lookup: Callable[[str], Deployed],
        change: Callable[[Mapping[str, str]], Mapping[str, str]],
    ) -> None:
        self._python, self._layer, self._code, self._logs = python, layer, code, logs
        self._lookup, self._change = lookup, change
        self._lock = threading.Lock()
        self._idle: dict[str, list[Worker]] = {}
        self._all: list[Worker] = []
        self._stopped = False
        self.invoked: dict[str, int] = {}
        self.failures: list[str] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[str]:
        """Take invocations within the `with` block; yields the URL."""
        host = self

        class Invocations(Handler):
            def do_POST(self) -> None:  # noqa: N802 - the base class's name
                name = self.headers.get(FUNCTION, "")
                try:
                    answer = host.invoke(name, json.loads(self.body()))
                    if isinstance(answer, dict) and answer.get("body", "") is None:
                        answer["body"] = ""  # the emulator fails with null, AWS does not
                    self.reply(200, answer)
                except InvocationError as error:
                    self.reply(500, {"errorType": "Unhandled", "errorMessage": str(error)})

        with Server(Invocations).running() as port:
            try:
                yield f"http://{LOOPBACK}:{port}/"
            finally:
                self.stop()

    def invoke(self, name: str, event: Any) -> Any:
        """Invoke a function in a process that is idle, else in a new one.

        Raises:
            InvocationError: The function failed.
        """
        function = self._lookup(name)
        worker = self._take(function)
        try:
            answer = worker.invoke(event, function.arn)
        except InvocationError as error:
            self.failures.append(f"{function.handler}: {error}")
            raise
        finally:
            with self._lock:
                self.invoked[function.handler] = self.invoked.get(function.handler, 0) + 1
                if worker.alive:
                    self._idle.setdefault(name, []).append(worker)
        return answer

    def _take(self, function: Deployed) -> Worker:
        with self._lock:
            if self._stopped:
                raise InvocationError("the host has stopped")
            idle = self._idle.get(function.name)
            if idle:
                return idle.pop()
            worker = Worker(
                function,
                [
                    *("unshare", "-rm", "sh", "-c", MOUNTS, "sh"),
                    *(str(self._python), "-m", "awslambdaric", function.handler),
                ],
                self._environment(function),
                self._logs / f"{function.handler}.log",
            )
            self._all.append(worker)
            return worker

    def _environment(self, function: Deployed) -> dict[str, str]:
        return {
            **self._change(function.environment),
            "PATH": os.environ["PATH"],
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "LAYER": str(self._layer),
            "LAMBDA_TASK_ROOT": str(self._code),
            "PYTHONPATH": "/opt/python",
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{self._code.name}",
            "_HANDLER": function.handler,
        }

    def stop(self) -> None:
        """End all processes."""
        with self._lock:
            self._stopped = True
            workers, self._all = self._all, []
        for worker in workers:
            worker.stop()
