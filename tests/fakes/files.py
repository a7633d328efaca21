"""Pictures and files of messages in memory."""

import base64
import hashlib
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

from skein.models.common.file import FileUpload, SignedUpload, StoredFile
from skein.ports import Clock

ADDRESS = "https://files.invalid"
CHECKSUM = "x-amz-checksum-sha256"


class MemoryFiles:
    """`Files` in memory.

    Attributes:
        contents: The files, by name.
        types: Their media types.
        failing: What each call raises; None for nothing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.contents: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        self.failing: Exception | None = None

    def put(self, name: str, content: bytes, content_type: str) -> None:
        self._reach()
        self.contents[name] = content
        self.types[name] = content_type

    def get(self, name: str) -> bytes | None:
        self._reach()
        return self.contents.get(name)

    def head(self, name: str) -> StoredFile | None:
        content = self.get(name)
        if content is None:
            return None
        return StoredFile(size=len(content), sha256=hashlib.sha256(content).hexdigest())

    def delete(self, name: str) -> None:
        self._reach()
        self.contents.pop(name, None)
        self.types.pop(name, None)

    def copy(self, source: str, target: str) -> bool:
        content = self.get(source)
        if content is not None:
            self.put(target, content, self.types[source])
        return content is not None

    def upload_url(self, name: str, upload: FileUpload, *, seconds: int) -> SignedUpload:
        checksum = base64.b64encode(bytes.fromhex(upload.sha256)).decode()
        headers = {
            "content-type": upload.content_type,
            "content-length": str(upload.size),
            CHECKSUM: checksum,
        }
        return SignedUpload(url=self._url(name, headers, seconds), headers=headers)

    def download_url(self, name: str, *, content_type: str, inline: bool, seconds: int) -> str:
        shown = "inline" if inline else "attachment"
        headers = {"content-type": content_type, "content-disposition": shown}
        return self._url(name, headers, seconds)

    def upload(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Upload a file as a client does; return the status."""
        signed, ends = self._signed(url)
        checksum = base64.b64encode(hashlib.sha256(body).digest()).decode()
        if ends < self._clock.now().timestamp():
            return 403
        if any(headers.get(each) != value for each, value in signed.items()):
            return 403
        if str(len(body)) != signed["content-length"] or checksum != signed[CHECKSUM]:
            return 400
        self.put(urlsplit(url).path[1:], body, signed["content-type"])
        return 200

    def download(self, url: str) -> tuple[int, Mapping[str, str], bytes]:
        """Download a file as a client does; return the status, the headers and the content."""
        signed, ends = self._signed(url)
        content = self.contents.get(urlsplit(url).path[1:])
        if ends < self._clock.now().timestamp():
            return 403, {}, b""
        return (404, {}, b"") if content is None else (200, signed, content)

    def _url(self, name: str, headers: Mapping[str, str], seconds: int) -> str:
        ends = self._clock.now().timestamp() + seconds
        return f"{ADDRESS}/{name}?{urlencode({**headers, 'expires': ends})}"

    def _signed(self, url: str) -> tuple[dict[str, str], float]:
        query = dict(parse_qsl(urlsplit(url).query))
        return query, float(query.pop("expires"))

    def _reach(self) -> None:
        if self.failing is not None:
            raise self.failing
