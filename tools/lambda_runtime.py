"""Each function under AWS's runtime client, with the code, the memory and the CPU of Lambda.

`python -m tools.lambda_runtime [function ...]` builds the layer for this machine's processor. It
starts each function as Lambda does: Python of the runtime with AWS's `awslambdaric`, the code in
`/var/task` and `/opt`, read-only and of another user, the memory of the template, and the share of
a core that Lambda gives for it. A small Runtime API hands over one event, an emulator of AWS has
the table, the queues and the secrets, and stand-ins are the model and Twilio.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

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


@dataclass
class RuntimeApi:
    """Lambda's Runtime API for one event.

    Attributes:
        event: What the function gets.
        seconds: How long the function may take, in seconds.
        answer: What the function answered.
        error: What failed at the start or at the event.
        started_at: When the function asked for its event.
        ended_at: When it answered.
    """

    event: Mapping[str, Any]
    seconds: int
    answer: Any = None
    error: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0
    ended: threading.Event = field(default_factory=threading.Event)
    _given: bool = False

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve the API; yields its host and port."""
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
        """Return the event, and None once it was given."""
        if self._given:
            return None
        self._given, self.started_at = True, time.monotonic()
        return self.event

    def end(self, kind: str, body: bytes) -> None:
        """Take the answer or the error of the function."""
        self.ended_at = time.monotonic()
        if kind == "response":
            self.answer = json.loads(body or b"null")
        else:
            self.error = body.decode()
        self.ended.set()


class _Handler(BaseHTTPRequestHandler):
    api: RuntimeApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer the request for the next event; the second one waits until the end."""
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
        """Take an answer or an error."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(b'{"status": "OK"}', {}, status=202)
        self.api.end(self.path.rsplit("/", 1)[-1], body)  # after which the process is killed

    def _answer(self, body: bytes, headers: Mapping[str, str], status: int = 200) -> None:
        self.send_response(status)
        own = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in {**headers, **own}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing for each request."""

    def handle(self) -> None:
        """Serve; the connection breaks when the function is killed."""
        with contextlib.suppress(ConnectionError):
            super().handle()


@dataclass(frozen=True)
class Bounds:
    """The memory and the CPU of a function as control groups of the kernel (version 1).

    Attributes:
        memory: MiB, as the template says.
    """

    memory: int
    name: str = field(default_factory=lambda: f"skein-{uuid.uuid4().hex[:8]}")

    @property
    def folders(self) -> list[Path]:
        """The control groups; none on a machine that lets nobody make one."""
        found = [CGROUPS / kind / self.name for kind in ("memory", "cpu")]
        return found if os.access(CGROUPS / "memory", os.W_OK) else []

    @contextlib.contextmanager
    def made(self) -> Iterator[Sequence[Path]]:
        """Make the control groups, and delete them when their processes have ended."""
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

    def used(self) -> str:
        """Return how much memory was used at most, in MiB."""
        if not self.folders:
            return "?"
        text = (self.folders[0] / "memory.max_usage_in_bytes").read_text()
        return str(int(text) // MIB)


@dataclass(frozen=True)
class Runtime:
    """The functions with their layer, for this machine.

    Attributes:
        python: The interpreter of the runtime.
        folder: Has `layer`, which becomes `/opt`, `task` or a folder of the function's name, which
            becomes `/var/task`, and `client`.
        variables: The environment of all functions.
    """

    python: str
    folder: Path
    variables: Mapping[str, str]

    def answer(self, function: Function, event: Mapping[str, Any]) -> str:
        """Start a function, hand over its event, and return what it took.

        Raises:
            RuntimeCheckError: It did not start, failed, refused the event or took too long.
        """
        api, bounds = RuntimeApi(event, function.timeout), Bounds(function.memory)
        with (
            api.serving() as address,
            bounds.made() as groups,
            tempfile.TemporaryDirectory(prefix="skein-tmp-") as scratch,
        ):
            Path(scratch).chmod(0o777)
            log = Path(scratch) / "log"
            begun = time.monotonic()
            process = self._start(function, address, groups, scratch, log)
            try:
                api.ended.wait(START_SECONDS + function.timeout)
            finally:
                process.kill()
                process.wait()
            start, took = api.started_at - begun, api.ended_at - api.started_at
            if not api.answer and (api.error or not api.ended_at):
                tail = log.read_text(errors="replace")[-1_500:]
                raise RuntimeCheckError(f"{function.logical_id}: {api.error or tail}")
            if took > function.timeout:
                raise RuntimeCheckError(f"{function.logical_id} took too long: {took:.1f} s")
            used = bounds.used()
        check(api.answer or {})
        return f"start {start:.1f} s, event {took:.1f} s, {used} of {function.memory} MiB"

    def _start(
        self, function: Function, address: str, groups: Sequence[Path], scratch: str, log: Path
    ) -> subprocess.Popen[bytes]:
        environment = {
            **self.variables,
            "AWS_LAMBDA_RUNTIME_API": address,
            "AWS_LAMBDA_FUNCTION_NAME": function.logical_id,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
            "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
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
    """Build what the functions read, with the interpreter of the runtime."""
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
    """The resources of a stack in an emulator."""

    url: str

    def client(self, service: Any) -> Any:
        """Return a client of the emulator."""
        return boto3.client(service, endpoint_url=self.url, region_name=CREDENTIALS["AWS_REGION"])

    def names(self, template: Template) -> dict[str, str]:
        """Make tables, queues, the bucket and the secrets; return their names."""
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
        """Write the items of a story that happened just now; return the event that follows."""
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


def run(chosen: Sequence[str]) -> None:
    """Check the named functions, or all.

    Raises:
        RuntimeCheckError: A function did not answer its event.
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
        runtime = Runtime(python, folder, variables)
        for function in template.functions:
            if not chosen or function.logical_id in chosen:
                module = function.handler.removesuffix(".handler")
                took = runtime.answer(function, stand.event(module))
                print(f"ok  {function.logical_id:<20}{took}", flush=True)
        effects = {"RunWorker": model.calls, "SmsDelivery": twilio.taken}
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
