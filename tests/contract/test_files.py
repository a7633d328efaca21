"""Files: the ones in memory, the folder's, and those in S3."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber
from moto import mock_aws

from local.events import Request
from local.stored_files import LocalFiles
from skein.adapters.aws.clients import Aws
from skein.adapters.aws.s3 import S3Files, s3_client
from skein.errors import Unavailable
from skein.models.common.file import FileUpload, StoredFile
from skein.ports import Files
from skein.settings import Settings
from tests.fakes.files import MemoryFiles
from tests.fakes.system import FixedClock

NAME = "media/acme/chat_1/med_1"
BODY = b"a picture"
UPLOAD = FileUpload(
    content_type="image/png", size=len(BODY), sha256=hashlib.sha256(BODY).hexdigest()
)
Put = Callable[[str, Mapping[str, str], bytes], int]
Get = Callable[[str], tuple[int, Mapping[str, str], bytes]]


class Stand(NamedTuple):
    """Files, and how a client uses their signed URLs.

    Attributes:
        checks: Whether the store checks expiry, length and checksum; moto does not.
    """

    files: Files
    put: Put
    get: Get
    checks: bool = True


@pytest.fixture
def s3() -> Iterator[Any]:
    with mock_aws():
        client = s3_client(Aws(Settings()))
        client.create_bucket(Bucket="skein-media")
        yield client
        client.close()


@pytest.fixture(params=["memory", "folder", "s3"])
def stand(request: pytest.FixtureRequest, clock: FixedClock, tmp_path: Path) -> Stand:
    if request.param == "memory":
        memory = MemoryFiles(clock)
        return Stand(memory, memory.upload, memory.download)
    if request.param == "folder":
        return of_folder(LocalFiles(tmp_path / "files", "http://127.0.0.1:1", clock))

    def get(url: str) -> tuple[int, Mapping[str, str], bytes]:
        answer = requests.get(url, timeout=5)
        return answer.status_code, answer.headers, answer.content

    return Stand(
        S3Files(request.getfixturevalue("s3"), "skein-media"),
        lambda url, headers, body: (
            requests.put(url, headers=headers, data=body, timeout=5).status_code
        ),
        get,
        checks=False,
    )


def of_folder(files: LocalFiles) -> Stand:
    def send(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Any:
        parts = urlsplit(url)
        return files.answer(Request(method, parts.path, parts.query, headers, body))

    def get(url: str) -> tuple[int, Mapping[str, str], bytes]:
        answer = send("GET", url, {}, b"")
        return answer.status, dict(answer.headers), answer.body

    return Stand(files, lambda url, headers, body: int(send("PUT", url, headers, body).status), get)


def test_file_is_read_as_it_was_stored_until_it_is_deleted(stand: Stand) -> None:
    files = stand.files
    for body in (b"first", BODY):  # the second replaces the first
        files.put(NAME, body, "image/png")
    assert files.get(NAME) == BODY
    assert files.head(NAME) == StoredFile(size=len(BODY), sha256=UPLOAD.sha256)
    for _ in range(2):
        files.delete(NAME)
    assert files.get(NAME) is None
    assert files.head(NAME) is None


def test_copy_stays_when_the_file_is_deleted(stand: Stand) -> None:
    assert not stand.files.copy(NAME, f"{NAME}2")
    stand.files.put(NAME, BODY, "image/png")
    assert stand.files.copy(NAME, f"{NAME}2")
    stand.files.delete(NAME)
    assert stand.files.get(f"{NAME}2") == BODY


def test_client_uploads_the_file_that_the_url_is_for(stand: Stand) -> None:
    signed = stand.files.upload_url(NAME, UPLOAD, seconds=300)
    assert stand.put(signed.url, signed.headers, BODY) == 200
    assert stand.files.get(NAME) == BODY
    found = stand.files.head(NAME)
    assert found is not None
    assert found.size == UPLOAD.size
    assert found.sha256 in {UPLOAD.sha256, *([] if stand.checks else [None])}


@pytest.mark.parametrize(
    ("body", "other"),
    [
        (b"A picture", {}),  # the same length
        (BODY + b"!", {}),
        (BODY, {"content-type": "text/html"}),
        (BODY, {"x-amz-checksum-sha256": "AAAA"}),
    ],
)
def test_url_takes_no_other_file(stand: Stand, body: bytes, other: Mapping[str, str]) -> None:
    signed = stand.files.upload_url(NAME, UPLOAD, seconds=300)
    if not stand.checks:
        names = parse_qs(urlsplit(signed.url).query)["X-Amz-SignedHeaders"][0].split(";")
        assert {*signed.headers} <= {*names}
        return
    assert stand.put(signed.url, {**signed.headers, **other}, body) in {400, 403}
    assert stand.files.get(NAME) is None


def test_signed_urls_expire(stand: Stand, clock: FixedClock) -> None:
    stand.files.put(NAME, BODY, "image/png")
    signed = stand.files.upload_url(f"{NAME}2", UPLOAD, seconds=300)
    url = stand.files.download_url(NAME, content_type="image/png", inline=True, seconds=300)
    if not stand.checks:
        assert all(parse_qs(each)["X-Amz-Expires"] == ["300"] for each in (url, signed.url))
        return
    clock.advance(301)
    assert stand.get(url)[0] == 403
    assert stand.put(signed.url, signed.headers, BODY) == 403


@pytest.mark.parametrize(("inline", "shown"), [(True, "inline"), (False, "attachment")])
def test_client_downloads_a_file_with_its_type(stand: Stand, *, inline: bool, shown: str) -> None:
    url = stand.files.download_url(NAME, content_type="image/png", inline=inline, seconds=60)
    assert stand.get(url)[0] in {404, *([] if stand.checks else [403])}
    stand.files.put(NAME, BODY, "application/octet-stream")
    status, headers, body = stand.get(url)
    assert (status, body) == (200, BODY)
    assert headers["content-type"] == "image/png"
    assert headers["content-disposition"] == shown


@pytest.mark.parametrize("change", ["path", "expires", "signature", "method", "nothing"])
def test_folder_takes_no_forged_url(clock: FixedClock, tmp_path: Path, change: str) -> None:
    files = LocalFiles(tmp_path, "http://127.0.0.1:1", clock)
    files.put(NAME, BODY, "")
    files.put(f"{NAME}2", BODY, "")
    url = files.download_url(NAME, content_type="image/png", inline=True, seconds=60)
    parts = urlsplit(url)
    path = f"{parts.path}2" if change == "path" else parts.path
    query = parts.query.replace(f"{change}=", f"{change}=9")
    request = Request("PUT" if change == "method" else "GET", path, query)
    assert files.answer(request).status == (200 if change == "nothing" else 403)


def test_folder_has_no_file_outside_of_it(clock: FixedClock, tmp_path: Path) -> None:
    files = LocalFiles(tmp_path, "http://127.0.0.1:1", clock)
    with pytest.raises(ValueError, match="not a name"):
        files.get("media/../../secret")
    files.put(f"media/{'x' * 600}/med_1", BODY, "")
    assert files.get(f"media/{'x' * 600}/med_1") == BODY


@pytest.mark.parametrize(("code", "status", "kind"), [("SlowDown", 503, Unavailable)])
def test_s3_that_does_not_answer_is_transient(
    s3: Any, code: str, status: int, kind: type[Exception]
) -> None:
    with Stubber(s3) as stubber:
        stubber.add_client_error("head_object", code, http_status_code=status)
        with pytest.raises(kind):
            S3Files(s3, "skein-media").head(NAME)


def test_s3_out_of_reach_is_unavailable(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(**_: str) -> None:
        raise EndpointConnectionError(endpoint_url="https://s3.example.com")

    monkeypatch.setattr(s3, "get_object", unreachable)
    with pytest.raises(Unavailable):
        S3Files(s3, "skein-media").get(NAME)
