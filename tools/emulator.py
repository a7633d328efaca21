"""Emulator of AWS services (`ministack`) in a child process, for tests and benchmarks."""

import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.children import Child, free_port
from local.config import LOOPBACK
from local.environment import CREDENTIALS


@contextmanager
def running(*services: str) -> Iterator[str]:
    """Run an empty emulator of these services, or of all; yield its URL.

    Raises:
        ChildFailedError: The emulator did not start.
    """
    with tempfile.TemporaryDirectory(prefix="skein-aws-") as name:
        folder = Path(name)
        port = free_port()
        url = f"http://{LOOPBACK}:{port}"
        child = Child(
            "the AWS emulator",
            "ministack",
            environment={
                **CREDENTIALS,
                "BIND_HOST": LOOPBACK,
                "GATEWAY_PORT": str(port),
                "STATE_DIR": str(folder),
                "TMPDIR": str(folder),
                **({"SERVICES": ",".join(services)} if services else {}),
                # Disabled because these services would listen on every network interface.
                "IOT_MTLS_ENABLED": "0",
                "SFTP_ENABLED": "0",
                "LOG_LEVEL": "WARNING",
            },
            log=folder / "emulator.log",
        )
        try:
            child.wait_until(lambda: answers(url))
            yield url
        finally:
            child.stop()


def answers(url: str) -> bool:
    """Return whether an emulator answers at a URL."""
    try:
        with urllib.request.urlopen(f"{url}/_ministack/health", timeout=1):  # noqa: S310 - loopback
            return True
    except OSError:
        return False
