"""Files at Twilio: which hosts are asked, with which credentials, and what the answers mean."""

from collections.abc import Sequence
from typing import Any

import pytest

from skein.adapters.outbound_http import OutboundHttpClient
from skein.adapters.twilio.media import fetch
from skein.errors import Ambiguous, AnswerTooLong, Failed, MediaRefused, Unavailable
from skein.models.common.http import HttpAnswer, HttpRequest

URL = "https://api.twilio.com/2010-04-01/Accounts/AC1/Messages/MM1/Media/ME1"
CDN = "https://mms.twiliocdn.com/AC1/abc"
BUCKET = "https://s3-external-1.amazonaws.com/media.twiliocdn.com/AC1/abc"
FOUND = (HttpAnswer(status=200, body=b"picture"), None)
Answer = tuple[HttpAnswer, str | None] | Exception


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let Twilio answer as a test says; return the requests."""

    def script(*answers: Answer) -> list[HttpRequest]:
        requests: list[HttpRequest] = []
        left = list(answers)

        def exchange(_: OutboundHttpClient, request: HttpRequest, until: float) -> Any:
            requests.append(request)
            answer = left.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(OutboundHttpClient, "exchange", exchange)
        return requests

    return script


def fetched(url: str = URL, tokens: Sequence[str] = ("t",), api_url: str | None = None) -> Any:
    credentials = [("AC1", token) for token in tokens]
    return fetch(url, credentials, api_url=api_url, max_bytes=100, loopback=False)


def to(url: str) -> Answer:
    return HttpAnswer(status=307), url


@pytest.mark.parametrize("place", [CDN, BUCKET])
def test_credentials_go_to_the_api_only(asked: Any, place: str) -> None:
    requests = asked(to(place), FOUND)
    assert fetched() == b"picture"
    assert [request.url for request in requests] == [URL, place]
    assert [sorted(request.headers) for request in requests] == [["authorization"], []]


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/ME1",
        "http://api.twilio.com/ME1",
        "https://api.twilio.com.evil.example/ME1",
        "https://api.twilio.com@evil.example/ME1",
        "https://api.twilio.com:8080/ME1",
        "https://s3.amazonaws.com/other-bucket/ME1",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
    ],
)
def test_media_url_on_another_host_is_never_requested(asked: Any, url: str) -> None:
    requests = asked(to(url), FOUND)
    for start in (url, URL):
        with pytest.raises(MediaRefused):
            fetched(start)
    assert [request.url for request in requests] == [URL]


def test_api_of_another_region_and_that_of_the_local_stack_are_asked(asked: Any) -> None:
    local = "http://127.0.0.1:8787/twilio"
    requests = asked(FOUND, FOUND)
    assert fetched("https://api.dublin.ie1.twilio.com/ME1") == b"picture"
    assert fetched(f"{local}/ME1", api_url=local) == b"picture"
    assert len(requests) == 2


def test_other_token_of_a_rotation_is_tried(asked: Any) -> None:
    requests = asked((HttpAnswer(status=401), None), FOUND)
    assert fetched(tokens=("old", "new")) == b"picture"
    assert requests[0].headers != requests[1].headers


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((HttpAnswer(status=503), None), Unavailable),
        ((HttpAnswer(status=401), None), Unavailable),
        (Ambiguous("no answer"), Unavailable),
        (Unavailable("no connection"), Unavailable),
        (AnswerTooLong("its answer has more than 5 MB"), MediaRefused),
        (Failed("the address is not public"), MediaRefused),
    ],
)
def test_answer_of_twilio_has_a_meaning(asked: Any, answer: Answer, kind: type[Exception]) -> None:
    asked(answer)
    with pytest.raises(kind):
        fetched()


@pytest.mark.parametrize("status", [404, 410])
def test_file_that_twilio_has_deleted_is_gone(asked: Any, status: int) -> None:
    asked((HttpAnswer(status=status), None))
    assert fetched() is None


def test_endless_redirects_raise_unavailable(asked: Any) -> None:
    asked(*[to(CDN)] * 9)
    with pytest.raises(Unavailable, match="too often"):
        fetched()
