"""Log of the SMS that the Twilio sandbox accepted and that phones sent, kept in a file."""

import json
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from local.files import read_whole, write_whole

Direction = Literal["outbound", "inbound"]
MAX_WAITING = 32  # requests that wait for a change; each holds a thread


@dataclass(frozen=True)
class Sms:
    """An SMS as Twilio stores it. Times are of the local clock, in whole seconds.

    An outbound SMS goes from a line to a phone, and an inbound one from a phone to a line. If it is
    a WhatsApp message, the addresses begin with `whatsapp:`.

    Attributes:
        buttons: The quick replies: pairs of title and id.
        media: The files: pairs of id and media type.
    """

    sid: str
    sender: str
    recipient: str
    body: str
    status: str
    created_at: str
    segments: int
    callback: str
    error_code: int | None = None
    direction: Direction = "outbound"
    buttons: tuple[tuple[str, str], ...] = ()
    media: tuple[tuple[str, str], ...] = ()


class SmsLog:
    """Persistent log of SMS.

    Args:
        path: The log file, with one JSON object per line. A later line for the same SMS replaces
            an earlier line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Condition()
        self._by_sid: dict[str, Sms] = {}
        self._version = 0
        self._waiting = 0
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
            self._version += 1
            self._lock.notify_all()

    @property
    def version(self) -> int:
        """How often the log has changed since the start."""
        return self._version

    def wait(self, version: int, seconds: float) -> None:
        """Wait until the log's version is not `version`, for at most `seconds`.

        If 32 calls are already waiting, a further call returns at once.
        """
        with self._lock:
            if self._waiting >= MAX_WAITING:
                return
            self._waiting += 1
            try:
                self._lock.wait_for(lambda: self._version != version, seconds)
            finally:
                self._waiting -= 1

    def set_media(self, sid: str, media: tuple[tuple[str, str], ...]) -> None:
        self.put(replace(self._by_sid[sid], media=media))

    def set_status(self, sid: str, status: str, error_code: int | None = None) -> Sms:
        """Store the new status of an SMS and return the SMS."""
        sms = replace(self._by_sid[sid], status=status, error_code=error_code)
        self.put(sms)
        return sms

    def get(self, sid: str) -> Sms | None:
        """Return the inbound or outbound SMS with this id; None if there is none."""
        return self._by_sid.get(sid)

    def find(
        self, *, sid: str | None = None, sender: str | None = None, recipient: str | None = None
    ) -> list[Sms]:
        """Return the outbound SMS that match all given filters, oldest first."""
        return [
            sms
            for sms in self._stored()
            if sms.direction == "outbound"
            and (sid is None or sms.sid == sid)
            and (sender is None or sms.sender == sender)
            and (recipient is None or sms.recipient == recipient)
        ]

    def of_line(self, line: str) -> list[Sms]:
        """Return the SMS from and to a line, oldest first."""
        return [sms for sms in self._stored() if line in {sms.sender, sms.recipient}]

    def forget(self, line: str) -> None:
        """Delete the SMS from and to a line."""
        with self._lock:
            kept = {
                sid: sms
                for sid, sms in self._by_sid.items()
                if line not in {sms.sender, sms.recipient}
            }
            lines = (json.dumps(asdict(sms)).encode() + b"\n" for sms in kept.values())
            write_whole(self._path, b"".join(lines))
            self._by_sid = kept
            self._version += 1
            self._lock.notify_all()

    def heard(self, phone: str, line: str) -> str | None:
        """Return when a phone last wrote to a line; None if it never did."""
        at = (
            sms.created_at
            for sms in self._stored()
            if sms.direction == "inbound" and (sms.sender, sms.recipient) == (phone, line)
        )
        return max(at, default=None)

    def is_phone(self, number: str) -> bool:
        """Return whether a phone with this number has sent an SMS."""
        return any(sms.direction == "inbound" and sms.sender == number for sms in self._stored())

    def of_phone(self, phone: str, line: str | None, limit: int) -> list[Sms]:
        """Return the newest SMS that a phone got or sent, oldest first.

        Args:
            phone: The phone number of the person.
            line: Only SMS from and to this line; None for all lines.
        """
        found = []
        for sms in self._stored():
            ends = (sms.sender, sms.recipient)
            own, other = ends if sms.direction == "inbound" else ends[::-1]
            if own == phone and line in {None, other}:
                found.append(sms)
        return found[-limit:]

    def _stored(self) -> list[Sms]:
        with self._lock:
            return list(self._by_sid.values())


def _by_sid(data: bytes) -> dict[str, Sms]:
    stored = (_read(json.loads(line)) for line in data.splitlines())
    return {sms.sid: sms for sms in stored}


def _read(value: Any) -> Sms:
    sms = Sms(**value)
    return replace(
        sms,
        buttons=tuple((title, code) for title, code in sms.buttons),
        media=tuple((media_sid, kind) for media_sid, kind in sms.media),
    )
