"""Log of the SMS that the Twilio sandbox accepted, kept in a file."""

import json
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from local.files import read_whole, write_whole


@dataclass(frozen=True)
class Sms:
    """SMS as Twilio stores it; times are of the local clock, in whole seconds."""

    sid: str
    sender: str
    recipient: str
    body: str
    status: str
    created_at: str
    segments: int
    callback: str
    error_code: int | None = None


class SmsLog:
    """Persistent log of SMS.

    Args:
        path: The log file, with one JSON object per line. A later line for the same SMS replaces
            an earlier line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._by_sid: dict[str, Sms] = {}
        if path.exists():
            # An incomplete last line was being written when the stack was killed.
            *lines, torn = path.read_bytes().split(b"\n")
            if torn:
                write_whole(path, b"".join(line + b"\n" for line in lines))
            self._by_sid = read_whole(path, _by_sid)

    def put(self, sms: Sms) -> None:
        """Store an SMS.

        Raises:
            OSError: The disk is full, for example; the SMS is not stored.
        """
        line = json.dumps(asdict(sms)).encode() + b"\n"
        with self._lock, self._path.open("ab", buffering=0) as file:
            end = file.tell()
            try:
                while line:
                    line = line[file.write(line) :]
            except OSError:
                file.truncate(end)
                raise
            self._by_sid[sms.sid] = sms

    def set_status(self, sid: str, status: str) -> Sms:
        """Store the new status of an SMS and return the SMS."""
        sms = replace(self._by_sid[sid], status=status)
        self.put(sms)
        return sms

    def find(
        self, *, sid: str | None = None, sender: str | None = None, recipient: str | None = None
    ) -> list[Sms]:
        """Return the SMS that match all given filters, oldest first."""
        with self._lock:
            stored = list(self._by_sid.values())
        return [
            sms
            for sms in stored
            if (sid is None or sms.sid == sid)
            and (sender is None or sms.sender == sender)
            and (recipient is None or sms.recipient == recipient)
        ]


def _by_sid(data: bytes) -> dict[str, Sms]:
    stored = (Sms(**json.loads(line)) for line in data.splitlines())
    return {sms.sid: sms for sms in stored}
