"""The AWS emulator of a rehearsal, in a process of its own, also reachable over TLS."""

import asyncio
import contextlib
import os
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from local.children import end_process, free_port
from tools.rehearsal.outside import LOOPBACK, Certificate

START_SECONDS = 60.0
STOP_SECONDS = 10.0
REGION = "us-east-1"
ACCOUNT = "000000000000"
# Types of resources that the emulator does not know whole: it has no composite alarms and no metric
# math. It accepts them without effect.
UNKNOWN_TYPES = (
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CodeDeploy::Application",
    "AWS::CodeDeploy::DeploymentGroup",
)
FORWARDING = Path(__file__).with_name("forwarding.py")
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "rehearsal",
    "AWS_SECRET_ACCESS_KEY": "rehearsal",  # the emulator takes any
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
}


class EmulatorError(Exception):
    """The emulator did not start."""


@contextlib.contextmanager
def running(
    python: Path, folder: Path, *, invocations: str, certificate: Certificate
) -> Iterator[str]:
    """Run the emulator within the `with` block; yields its URL.

    Args:
        python: The Python of the emulator's environment.
        folder: The folder of its log and temporary files.
        invocations: The URL to which it posts all invocations of functions.
        certificate: The certificate of the issuer, which its JWT authorizer has to trust.

    Raises:
        EmulatorError: It did not answer in time.
    """
    port = free_port()
    url = f"http://{LOOPBACK}:{port}"
    temporary = folder / "emulator"
    temporary.mkdir()
    with (folder / "emulator.log").open("wb") as output:
        process = subprocess.Popen(
            [str(python), str(FORWARDING), invocations, *UNKNOWN_TYPES],
            cwd=temporary,
            env={
                **environment(os.environ),
                **CREDENTIALS,
                "BIND_HOST": LOOPBACK,
                "GATEWAY_PORT": str(port),
                "MINISTACK_HOST": LOOPBACK,
                "TMPDIR": str(temporary),
                "SSL_CERT_FILE": str(certificate.file),
                # These services would listen on every network interface.
                "IOT_MTLS_ENABLED": "0",
                "SFTP_ENABLED": "0",
                "LOG_LEVEL": "INFO",
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + START_SECONDS
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > end:
                raise EmulatorError(f"the emulator did not start; see {folder / 'emulator.log'}")
            time.sleep(0.1)
        yield url
    finally:
        end_process(process, STOP_SECONDS)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without settings of another AWS account or another Python."""
    return {
        name: value
        for name, value in given.items()
        if not name.startswith(("AWS_", "PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS"))
    }


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_ministack/health", timeout=1):  # noqa: S310
            return True
    except OSError:
        return False


@contextlib.contextmanager
def tls_front(target: str, certificate: Certificate) -> Iterator[str]:
    """Pass on TLS connections to a server on loopback; yields `host:port`.

    Args:
        target: The URL of the server.
        certificate: The certificate of the front.
    """
    port = int(target.rsplit(":", 1)[1])
    loop = asyncio.new_event_loop()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(LOOPBACK, port)
        await asyncio.gather(_copy(reader, to_server), _copy(from_server, writer))

    async def close() -> None:
        server.close()
        open_ones = asyncio.all_tasks() - {asyncio.current_task()}
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)

    started = asyncio.start_server(connect, LOOPBACK, 0, ssl=certificate.context())
    server = loop.run_until_complete(started)
    thread = threading.Thread(target=loop.run_forever, name="tls front", daemon=True)
    thread.start()
    try:
        yield f"{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(close(), loop).result(STOP_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(STOP_SECONDS)
        loop.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    target.close()
