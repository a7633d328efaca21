"""The emulator of AWS services, in a child process."""

import json
import logging
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from local.children import Child, free_port
from local.config import LOOPBACK
from local.environment import CREDENTIALS
from local.files import read_whole

SERVICES = ("sqs", "secretsmanager")

logger = logging.getLogger(__name__)


class Emulator:
    """AWS emulator in a child process, whose state is kept between clean stops.

    Args:
        folder: The folder of the emulator's state and log.
        services: The AWS services.
    """

    def __init__(self, folder: Path, services: Sequence[str] = SERVICES) -> None:
        self._folder = folder
        self._services = services
        self._states = folder / "state"
        self._child: Child | None = None
        self._ready = False
        self.endpoint_url = ""

    def start(self) -> None:
        """Start the emulator and return when it answers.

        Raises:
            ChildFailedError: The emulator did not start.
            DamagedDataError: The emulator's state is damaged. Without this check, the emulator
                would start empty and overwrite the old state.
        """
        for service in self._services:
            if (path := self._state(service)).exists():
                read_whole(path, _an_object)
        port = free_port()
        self.endpoint_url = f"http://{LOOPBACK}:{port}"
        temporary = self._folder / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        self._child = Child(
            "the AWS emulator",
            "ministack",
            environment={
                **CREDENTIALS,
                "BIND_HOST": LOOPBACK,
                "GATEWAY_PORT": str(port),
                "PERSIST_STATE": "1",
                "STATE_DIR": str(self._states),
                "TMPDIR": str(temporary),
                "SERVICES": ",".join(self._services),
                # Disabled because these services would listen on every network interface.
                "IOT_MTLS_ENABLED": "0",
                "SFTP_ENABLED": "0",
                "LOG_LEVEL": "WARNING",
            },
            log=self._folder / "aws.log",
        )
        self._child.wait_until(self._answers)
        self._ready = True

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(  # noqa: S310 - loopback
                f"{self.endpoint_url}/_ministack/health", timeout=1
            ):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        """Stop the emulator, which saves its state.

        An error is logged for services whose state was not saved.
        """
        if self._child is None:
            return
        before = {service: _changed(self._state(service)) for service in self._services}
        self._child.stop()
        self._child = None
        unsaved = [name for name in self._services if _changed(self._state(name)) == before[name]]
        if unsaved and self._ready:
            logger.error(
                "failed to save %s in %s (is the disk full?): all changes since the"
                " last clean stop are lost",
                " and ".join(unsaved),
                self._folder,
            )

    def _state(self, service: str) -> Path:
        return self._states / f"{service}.json"


def _an_object(data: bytes) -> None:
    if not isinstance(json.loads(data), dict):
        raise TypeError("the data must be a JSON object")


def _changed(path: Path) -> int:
    """Return a file's modification time in nanoseconds; 0 if the file does not exist."""
    return path.stat().st_mtime_ns if path.exists() else 0
