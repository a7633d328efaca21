"""Runs each function as Lambda does, with AWS's runtime client and Lambda's memory and CPU.

`python -m tools.lambda_runtime [function ...]` builds the layer for this machine's processor. Then
it starts each function as Lambda does: with the runtime's Python and AWS's `awslambdaric`, with the
code in `/var/task` and `/opt`, which is read-only and belongs to another user, with the memory that
the template sets, and with the share of a core that Lambda gives for this memory. For functions
with SnapStart, the hooks that run when a snapshot is restored are run, too. A small server of
Lambda's Runtime API gives the function one event. An emulator of AWS provides the table, the queues
and the secrets; scripted servers replace the model and Twilio.
"""

import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import boto3

from bench.starts.first_event import check
from bench.starts.first_events import BASE_URL, scene
from local.environment import (
    CREDENTIALS,
    LOOPBACK,
    OPENAI_SECRET,
    SERVICES_SECRET,
    TWILIO_SECRET,
    StackEnvironment,
)
from local.template import NUMBERS, REGISTER, ROOT, Function, Template
from skein.adapters.dynamodb.table import DynamoTable
from skein.adapters.system import SystemClock
from skein.models.common.storage import Key, Put
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.scripted_twilio import ACCOUNT, ScriptedTwilio
from tools import emulator
from tools.deployment import layer
from tools.install import packages

CLIENT = ROOT / "requirements" / "lambda.txt"
CGROUPS = Path("/sys/fs/cgroup")
FULL_CORE = 1_769  # MiB of memory with which a function has one core
PERIOD = 100_000  # microseconds, over which the kernel shares a core
NOBODY = 65_534  # a user that may write nothing but the folder for temporary files
START_SECONDS = 60.0  # far above Lambda's 10 s of a whole core for the start
MIB = 1_048_576
STORY = timedelta(seconds=40)  # longer than the story, so that its last run is due


class RuntimeCheckError(packages.InstallError):
    """A function did not answer its event; the message says why."""


class Seconds(NamedTuple):
    """A point in time, or the time between two.

    Attributes:
        wall: Seconds by the machine's clock.
        cpu: Seconds of CPU time that the function has used; 0 if the kernel does not tell.
    """

    wall: float
    cpu: float

    def since(self, begun: "Seconds") -> "Seconds":
        """Return the time from an earlier point until this one."""
        return Seconds(self.wall - begun.wall, self.cpu - begun.cpu)


@dataclass(frozen=True)
class Took:
    """How much time and memory a function used.

    Attributes:
        start: The time from the start of the process until it asked for its first event.
        events: For each event, the time from handing it to the function until the answer.
        memory: The most memory that was in use at a time, in MiB; 0 if the kernel does not tell.
    """

    start: Seconds
    events: Sequence[Seconds]
    memory: int


@dataclass
class RuntimeApi:
    """A server of Lambda's Runtime API, which gives a function some events, one after the other.

    Attributes:
        events: Functions that each make an event when the checked function asks for its next event.
        seconds: How long the function may take for each event, in seconds.
        answers: The function's answers to the events.
        error: The error that the function reported, at its start or for an event; empty if none.
        now: Returns the current time and the CPU time used so far.
        asked_at: When the function asked for each event.
        given_at: When the function got each event.
        ended_at: When the function answered each event.
        restored: Whether the function asked to be restored from a snapshot, as with SnapStart.
    """

    events: Sequence[Callable[[], Mapping[str, Any]]]
    seconds: int
    now: Callable[[], Seconds]
    answers: list[Any] = field(default_factory=list)
    error: str = ""
    asked_at: list[Seconds] = field(default_factory=list)
    given_at: list[Seconds] = field(default_factory=list)
    ended_at: list[Seconds] = field(default_factory=list)
    restored: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve the API within the block; yield its host and port."""
        handler = type("Handler", (_Handler,), {"api": self})
        server = ThreadingHTTPServer((LOOPBACK.split(",")[0], 0), handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"{server.server_address[0]!s}:{server.server_address[1]}"
        finally:
            self.ended.set()
            server.shutdown()
            server.server_close()

    def next(self) -> Mapping[str, Any] | None:
        """Return the next event; None if the function has got all events."""
        if len(self.asked_at) == len(self.events):
            return None
        self.asked_at.append(self.now())
        event = self.events[len(self.asked_at) - 1]()
        self.given_at.append(self.now())
        return event

    def end(self, kind: str, body: bytes) -> None:
        """Record the answer or the error that the function has sent."""
        self.ended_at.append(self.now())
        if kind == "response":
            self.answers.append(json.loads(body or b"null"))
        else:
            self.error = body.decode()

    def finish(self) -> None:
        """End the check if the function has sent an error, or the answer to the last event."""
        if self.error or len(self.answers) == len(self.events):
            self.ended.set()

    def took(self) -> Sequence[Seconds]:
        """Return the time that each event took."""
        pairs = zip(self.given_at, self.ended_at, strict=True)
        return [ended.since(given) for given, ended in pairs]


class _Handler(BaseHTTPRequestHandler):
    api: RuntimeApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer a request for the next event; after the last event, wait until the check ends."""
        if self.path.endswith("/restore/next"):
            self.api.restored = True
            self._answer(b"{}", {})
            return
        event = self.api.next()
        if event is None:
            self.api.ended.wait()
            self.close_connection = True
            return
        deadline = int((time.time() + self.api.seconds) * 1_000)
        self._answer(
            json.dumps(event).encode(),
            {
                "Lambda-Runtime-Aws-Request-Id": str(uuid.uuid4()),
                "Lambda-Runtime-Deadline-Ms": str(deadline),
                "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:1:function:a",
                "Lambda-Runtime-Trace-Id": "Root=1-67b49f28-1a2b3c4d5e6f708192a3b4c5;Sampled=0",
            },
        )

    def do_POST(self) -> None:
        """Receive an answer or an error of the function."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.api.end(self.path.rsplit("/", 1)[-1], body)  # before the function may ask for more
        self._answer(b'{"status": "OK"}', {}, status=202)
        self.api.finish()  # after which the process is killed

    def _answer(self, body: bytes, headers: Mapping[str, str], status: int = 200) -> None:
        self.send_response(status)
        own = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in {**headers, **own}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def handle(self) -> None:
        """Serve a connection. It breaks when the function is killed, which is not an error."""
        with contextlib.suppress(ConnectionError):
            super().handle()


@dataclass(frozen=True)
class Bounds:
    """Limits on the memory and CPU of a function, set with Linux control groups (cgroups v1).

    Attributes:
        memory: The memory in MiB that the template sets.
    """

    memory: int
    name: str = field(default_factory=lambda: f"skein-{uuid.uuid4().hex[:8]}")

    @property
    def folders(self) -> list[Path]:
        """The folders of the control groups; empty if this machine doesn't allow creating them."""
        found = [CGROUPS / kind / self.name for kind in ("memory", "cpu", "cpuacct")]
        return found if os.access(CGROUPS / "memory", os.W_OK) else []

    @contextlib.contextmanager
    def made(self) -> Iterator[Sequence[Path]]:
        """Create the control groups, and delete them when their processes have ended."""
        values = {
            "memory/memory.limit_in_bytes": self.memory * MIB,
            "cpu/cpu.cfs_period_us": PERIOD,
            "cpu/cpu.cfs_quota_us": PERIOD * self.memory // FULL_CORE,
        }
        folders = self.folders
        for folder in folders:
            folder.mkdir()
        for path, value in values.items() if folders else ():
            kind, name = path.split("/")
            (CGROUPS / kind / self.name / name).write_text(str(value))
        try:
            yield folders
        finally:
            for folder in folders:
                folder.rmdir()

    def used(self) -> int:
        """Return the most memory that was in use at a time, in MiB; 0 without control groups."""
        return self._read("memory.max_usage_in_bytes") // MIB

    def now(self) -> Seconds:
        """Return the current time, and the CPU time that was used so far."""
        return Seconds(time.monotonic(), self._read("cpuacct.usage") / 1e9)

    def _read(self, name: str) -> int:
        kind = name.split(".", maxsplit=1)[0]
        found = [folder / name for folder in self.folders if folder.parent.name == kind]
        return int(found[0].read_text()) if found else 0


@dataclass(frozen=True)
class Runtime:
    """Starts the functions with their layer on this machine.

    Attributes:
        python: The path of the runtime's interpreter.
        folder: The built code. It has the folder `layer`, which becomes `/opt`; the folder `task`,
            or one with the function's name, which becomes `/var/task`; and the folder `client`.
        variables: The environment variables of all functions.
        snapshots: The functions that start from a snapshot if `SnapStart=on`.
    """

    python: str
    folder: Path
    variables: Mapping[str, str]
    snapshots: Set[str] = frozenset()

    def answer(
        self,
        function: Function,
        *events: Callable[[], Mapping[str, Any]],
        memory: int | None = None,
    ) -> Took:
        """Start a function and give it the events, one after the other.

        Args:
            memory: The memory in MiB; by default, that of the template.

        Raises:
            RuntimeCheckError: The function did not start, failed, refused an event or took too
                long.
        """
        bounds = Bounds(memory or function.memory)
        api = RuntimeApi(events, function.timeout, bounds.now)
        with (
            api.serving() as address,
            bounds.made() as groups,
            tempfile.TemporaryDirectory(prefix="skein-tmp-") as scratch,
        ):
            Path(scratch).chmod(0o777)
            log = Path(scratch) / "log"
            begun = bounds.now()
            process = self._start(function, bounds.memory, address, groups, scratch, log)
            try:
                api.ended.wait(START_SECONDS + function.timeout * len(events))
            finally:
                process.kill()
                process.wait()
            if len(api.answers) < len(events):
                tail = log.read_text(errors="replace")[-1_500:]
                raise RuntimeCheckError(f"{function.logical_id}: {api.error or tail}")
            if function.logical_id in self.snapshots and not api.restored:
                raise RuntimeCheckError(f"{function.logical_id} did not start from a snapshot")
            took = Took(api.asked_at[0].since(begun), api.took(), bounds.used())
        slowest = max(each.wall for each in took.events)
        if slowest > function.timeout:
            raise RuntimeCheckError(f"{function.logical_id} took too long: {slowest:.1f} s")
        for answer in api.answers:
            check(answer or {})
        return took

    def _start(
        self,
        function: Function,
        memory: int,
        address: str,
        groups: Sequence[Path],
        scratch: str,
        log: Path,
    ) -> subprocess.Popen[bytes]:
        from_snapshot = function.logical_id in self.snapshots
        environment = {
            **self.variables,
            "AWS_LAMBDA_RUNTIME_API": address,
            "AWS_LAMBDA_FUNCTION_NAME": function.logical_id,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(memory),
            "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start" if from_snapshot else "on-demand",
            "LAMBDA_TASK_ROOT": "/var/task",
            "PYTHONPATH": os.pathsep.join(("/var/task", "/opt/python", f"{self.folder}/client")),
            "PATH": os.defpath,
            "HOME": scratch,
            "TMPDIR": scratch,
            "LANG": "en_US.UTF-8",
        }
        own = function.logical_id in layer.OWN_PACKAGES
        code = {"CODE": str(self.folder), "TASK": function.logical_id if own else "task"}
        with log.open("wb") as output:
            return subprocess.Popen(
                ["unshare", "--mount", "/bin/sh", "-c", START, self.python, function.handler],
                env=environment | code | {"GROUPS": " ".join(str(each) for each in groups)},
                stdout=output,
                stderr=output,
            )


# Joins the control groups, puts the code where Lambda has it, and becomes the function.
START = f"""
for group in $GROUPS; do echo $$ >"$group/cgroup.procs"; done
mkdir -p /opt /var/task
mount --bind "$CODE/layer" /opt && mount -o remount,bind,ro /opt || exit 1
mount --bind "$CODE/$TASK" /var/task && mount -o remount,bind,ro /var/task || exit 1
cd /var/task
exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups "$0" -m awslambdaric "$1"
"""


def client(folder: Path, version: str) -> None:
    """Install AWS's runtime client for the Python of the runtime."""
    packages.run_pip(
        *("install", "-qq", "--no-deps", "--only-binary=:all:", "--python-version", version),
        *("--require-hashes", "-r", str(CLIENT), "--target", str(folder)),
    )


def build(python: str, folder: Path) -> None:
    """Build what the functions read, with the runtime's interpreter."""
    machine = platform.machine()
    named = [each.replace("aarch64", machine) for each in layer.PLATFORMS]
    for part in (layer.LAYER, *layer.OWN_PACKAGES):
        target = folder / ("layer" if part == layer.LAYER else part)
        command = [python, "-m", "tools.deployment.layer", part, str(target), *named]
        subprocess.run(command, check=True, cwd=ROOT)
    client(folder / "client", layer.runtime_version(layer.TEMPLATE.read_text("utf-8")))
    shutil.copytree(
        ROOT / "functions", folder / "task", ignore=shutil.ignore_patterns("__pycache__")
    )
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)


@dataclass(frozen=True)
class Stand:
    """The resources of a stack, in an emulator of AWS."""

    url: str

    def client(self, service: Any) -> Any:
        """Return a client of the emulator."""
        return boto3.client(service, endpoint_url=self.url, region_name=CREDENTIALS["AWS_REGION"])

    def names(self, template: Template) -> dict[str, str]:
        """Create the tables, the queues, the bucket and the secrets; return their names."""
        tables, queues = self.client("dynamodb"), self.client("sqs")
        for name in ("Table", REGISTER, NUMBERS):
            keys = template.table[1] if name == "Table" else _key_table(template, name)
            tables.create_table(TableName=name, **keys)
        secrets = {TWILIO_SECRET: ACCOUNT, OPENAI_SECRET: {"api_key": "sk-a"}}
        for name, value in {**secrets, SERVICES_SECRET: {"key": "none"}}.items():
            self.client("secretsmanager").create_secret(Name=name, SecretString=json.dumps(value))
        self.client("s3").create_bucket(Bucket="media")
        return {
            "Table": "Table",
            REGISTER: REGISTER,
            NUMBERS: NUMBERS,
            "MediaBucket": "media",
            "ServicesSecret": SERVICES_SECRET,
            **{
                queue.logical_id: queues.create_queue(QueueName=queue.logical_id)["QueueUrl"]
                for queue in template.queues
            },
        }

    def event(self, module: str) -> Mapping[str, Any]:
        """Write the items of a story that has just happened; return the event that follows."""
        told = scene(SystemClock().now() - STORY, ACCOUNT)
        table = DynamoTable(self.client("dynamodb"), "Table", SystemClock())
        for item in told.items:
            table.write(Put(Key(item["pk"], item["sk"]), item))
        event: Mapping[str, Any] = told.events[module]
        return event


def _key_table(template: Template, name: str) -> dict[str, Any]:
    properties = template.document["Resources"][name]["Properties"]
    wanted = ("AttributeDefinitions", "KeySchema", "BillingMode")
    return {each: properties[each] for each in wanted}


@dataclass(frozen=True)
class Deployment:
    """The functions of the template, and what they call: emulated AWS, a model and a Twilio."""

    template: Template
    runtime: Runtime
    stand: Stand
    model: ScriptedOpenAI
    twilio: ScriptedTwilio

    def events(self, function: Function, count: int = 1) -> Sequence[Callable[[], Any]]:
        """Return functions that make the events of a function, each from a new story."""
        module = function.handler.removesuffix(".handler")
        return [lambda: self.stand.event(module)] * count


@contextlib.contextmanager
def deployment() -> Iterator[Deployment]:
    """Build the functions, and start what they call.

    Raises:
        RuntimeCheckError: The code can't be mounted read-only on this machine.
    """
    if os.geteuid() or sys.platform != "linux":
        raise RuntimeCheckError("mounting code read-only needs root on Linux")
    os.environ |= {**CREDENTIALS, "no_proxy": LOOPBACK}
    template = Template.load()
    python = subprocess.run(
        [sys.executable, "-m", "tools.install.runtime_python"],
        check=True,
        text=True,
        capture_output=True,
    ).stdout.strip()
    with contextlib.ExitStack() as parts:
        folder = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="skein-runtime-")))
        build(python, folder)
        model = parts.enter_context(ScriptedOpenAI(default="Twenty, on a good day."))
        twilio = parts.enter_context(ScriptedTwilio())
        stand = Stand(parts.enter_context(emulator.running()))
        environment = StackEnvironment(
            BASE_URL, model.base_url, stand.names(template), "wss://live.example", {}
        )
        variables = {
            **environment.variables(template),
            **CREDENTIALS,
            "SKEIN_AWS_ENDPOINT_URL": stand.url,
            "SKEIN_TWILIO_API_URL": twilio.url,
            "no_proxy": LOOPBACK,
        }
        resources = template.document["Resources"].items()
        snapshots = {name for name, each in resources if "SnapStart" in each.get("Properties", {})}
        runtime = Runtime(python, folder, variables, snapshots)
        yield Deployment(template, runtime, stand, model, twilio)


def run(chosen: Sequence[str]) -> None:
    """Check the named functions, or all functions.

    Raises:
        RuntimeCheckError: A function did not answer its event.
    """
    with deployment() as deployed:
        for function in deployed.template.functions:
            if not chosen or function.logical_id in chosen:
                took = deployed.runtime.answer(function, *deployed.events(function))
                told = f"start {took.start.wall:.1f} s, event {took.events[0].wall:.1f} s"
                memory = f"{took.memory or '?'} of {function.memory} MiB"
                print(f"ok  {function.logical_id:<20}{told}, {memory}", flush=True)
        effects = {"RunWorker": deployed.model.calls, "SmsDelivery": deployed.twilio.taken}
        for name, seen in effects.items():
            if (not chosen or name in chosen) and not seen:
                raise RuntimeCheckError(f"{name} took its job and called nothing outside")
        if not Bounds(0).folders:
            print("not shown: memory and CPU, for which this machine has no control groups")


def main(argv: Sequence[str]) -> int:
    """Run the check; return the exit status."""
    return packages.report_errors(lambda: run(argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
