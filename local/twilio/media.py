"""Files of messages, as Twilio stores them: files that phones sent, and files that Skein sends.

Twilio fetches the files that Skein sends from their URLs. A request for a file requires the
account's credentials; Twilio answers with a redirect to a URL that works for a few hours:
https://www.twilio.com/docs/messaging/api/media-resource.
"""

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

import requests

from local.files import write_whole
from local.log_file import PRIVATE

MAX_BYTES = 10 * 1024 * 1024
MAX_REDIRECTS = 3
FETCH_SECONDS = 10
SID_DIGITS = 32


class MediaFile(NamedTuple):
    """A file of a message."""

    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class MediaStore:
    """Stores the files of the sandbox's messages. Each is a file on disk, named by its id.

    Args:
        folder: The folder of the files, which is created with the first file.
        base_url: The URL of the stack. Files are fetched only from this URL.
    """

    folder: Path
    base_url: str = ""

    def put(self, file: MediaFile) -> str:
        """Store a file and return its id."""
        self.folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        sid = f"ME{secrets.token_hex(SID_DIGITS // 2)}"
        write_whole(self.folder / sid, file.content_type.encode() + b"\n" + file.data)
        return sid

    def get(self, sid: str) -> MediaFile | None:
        """Return the file with an id, or None."""
        path = self.folder / sid
        if not sid.isalnum() or not path.is_file():
            return None
        content_type, _, data = path.read_bytes().partition(b"\n")
        return MediaFile(content_type.decode(), data)

    def fetch(self, url: str) -> MediaFile | None:
        """Fetch the file of an outbound message from the stack; None if the request fails."""
        for _ in range(MAX_REDIRECTS):
            if not url.startswith(f"{self.base_url}/"):
                return None
            try:
                answer = requests.get(url, timeout=FETCH_SECONDS, allow_redirects=False)
            except requests.RequestException:
                return None
            if not answer.is_redirect:
                kind = answer.headers.get("content-type", "application/octet-stream")
                whole = answer.ok and len(answer.content) <= MAX_BYTES
                return MediaFile(kind.partition(";")[0], answer.content) if whole else None
            url = urljoin(url, answer.headers["location"])
        return None
