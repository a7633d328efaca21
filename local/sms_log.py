"""The texts that the sandbox was given, kept in a file between starts."""

import json
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from local.files import read_whole, write_whole


@dataclass(frozen=True)
class Sms:
    """One text as Twilio would know it; times are of the local clock, in whole seconds."""

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
    """All texts, oldest first.

    Args:
        path: One JSON object a line; a later line about the same text replaces an earlier one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._texts: dict[str, Sms] = {}
        if path.exists():
            # What follows the last line's end was being written when the stack was killed.
            *lines, torn = path.read_bytes().split(b"\n")
            if torn:
                write_whole(path, b"".join(line + b"\n" for line in lines))
            self._texts = read_whole(path, _texts)

    def put(self, sms: Sms) -> None:
        """Keep a text."""
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            self._texts[sms.sid] = sms
            file.write(json.dumps(asdict(sms)) + "\n")

    def set_status(self, sid: str, status: str) -> Sms:
        """Keep what became of a text."""
        sms = replace(self._texts[sid], status=status)
        self.put(sms)
        return sms

    def find(
        self, *, sid: str | None = None, sender: str | None = None, recipient: str | None = None
    ) -> list[Sms]:
        """The texts that fit, oldest first."""
        with self._lock:
            texts = list(self._texts.values())
        return [
            sms
            for sms in texts
            if (sid is None or sms.sid == sid)
            and (sender is None or sms.sender == sender)
            and (recipient is None or sms.recipient == recipient)
        ]


def _texts(data: bytes) -> dict[str, Sms]:
    texts = (Sms(**json.loads(line)) for line in data.splitlines())
    return {sms.sid: sms for sms in texts}
