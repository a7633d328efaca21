"""Pictures and files of messages in a folder, with signed URLs, in place of S3."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from local.events import Request, Response, json_response
from local.files import write_whole
from local.log_file import PRIVATE
from skein.models.common.file import FileUpload, SignedUpload, StoredFile
from skein.ports import Clock

PREFIX = "/stored-files"
MAX_NAME = 200  # bytes of a part of a name; file systems take 255
CHECKSUM = "x-amz-checksum-sha256"


class LocalFiles:
    """`Files` in a folder. The stack itself serves the signed URLs.

    A URL is valid until the stack stops, or until it expires.

    Args:
        folder: The folder, which is created with the first file.
        base_url: The URL of the stack.
    """

    def __init__(self, folder: Path, base_url: str, clock: Clock) -> None:
        self._folder = folder
        self._base_url = base_url
        self._clock = clock
        self._key = secrets.token_bytes(32)

    def put(self, name: str, content: bytes, content_type: str) -> None:
        """See `skein.ports.Files`. The type is not stored, because the signed URLs contain it."""
        path = self._path(name)
        path.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        write_whole(path, content)

    def get(self, name: str) -> bytes | None:
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            return None

    def head(self, name: str) -> StoredFile | None:
        content = self.get(name)
        if content is None:
            return None
        return StoredFile(size=len(content), sha256=hashlib.sha256(content).hexdigest())

    def delete(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def copy(self, source: str, target: str) -> bool:
        content = self.get(source)
        if content is not None:
            self.put(target, content, "")
        return content is not None

    def upload_url(self, name: str, upload: FileUpload, *, seconds: int) -> SignedUpload:
        checksum = base64.b64encode(bytes.fromhex(upload.sha256)).decode()
        headers = {
            "content-type": upload.content_type,
            "content-length": str(upload.size),
            CHECKSUM: checksum,
        }
        return SignedUpload(url=self._signed("PUT", name, headers, seconds), headers=headers)

    def download_url(self, name: str, *, content_type: str, inline: bool, seconds: int) -> str:
        headers = {
            "content-type": content_type,
            "content-disposition": "inline" if inline else "attachment",
            "cache-control": "private, no-store",
        }
        return self._signed("GET", name, headers, seconds)

    def answer(self, request: Request) -> Response:
        """Answer a request to a signed URL, as S3 does."""
        name = unquote(request.path.removeprefix(f"{PREFIX}/"))
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        signature, ends = query.pop("signature", ""), query.get("expires", "")
        method = "GET" if request.method == "HEAD" else request.method
        if not hmac.compare_digest(signature, self._signature(method, name, query)):
            return _refused(403, "SignatureDoesNotMatch")
        if float(ends) < self._clock.now().timestamp():
            return _refused(403, "AccessDenied")
        headers = {each: value for each, value in query.items() if each != "expires"}
        if method == "PUT":
            return self._uploaded(name, request, headers)
        content = self.get(name)
        if content is None:
            return _refused(404, "NoSuchKey")
        return Response(200, tuple(headers.items()), content)

    def _uploaded(self, name: str, request: Request, headers: Mapping[str, str]) -> Response:
        """Store an uploaded file if it has the signed headers, length and checksum."""
        if any(request.headers.get(each) != value for each, value in headers.items()):
            return _refused(403, "SignatureDoesNotMatch")
        checksum = base64.b64encode(hashlib.sha256(request.body).digest()).decode()
        if len(request.body) != int(headers["content-length"]) or checksum != headers[CHECKSUM]:
            return _refused(400, "BadDigest")
        self.put(name, request.body, headers["content-type"])
        return Response(200)

    def _signed(self, method: str, name: str, headers: Mapping[str, str], seconds: int) -> str:
        ends = str(self._clock.now().timestamp() + seconds)
        query = {**headers, "expires": ends}
        signed = {**query, "signature": self._signature(method, name, query)}
        return f"{self._base_url}{PREFIX}/{quote(name)}?{urlencode(signed)}"

    def _signature(self, method: str, name: str, query: Mapping[str, str]) -> str:
        text = "\n".join([method, name, urlencode(sorted(query.items()))])
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    def _path(self, name: str) -> Path:
        """Return the path of a file. Parts of the name that are too long are replaced by hashes."""
        parts = [
            part if len(part.encode()) <= MAX_NAME else hashlib.sha256(part.encode()).hexdigest()
            for part in name.split("/")
        ]
        if any(part in {"", ".", ".."} for part in parts):
            raise ValueError(f"not a name of a file: {name}")
        return self._folder.joinpath(*parts)


def _refused(status: int, code: str) -> Response:
    return json_response(status, {"code": code})
