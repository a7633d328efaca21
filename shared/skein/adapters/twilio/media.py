"""Media of messages at Twilio, fetched with the account's credentials from Twilio's hosts only.

Twilio answers with a redirect to its content network. The credentials are sent to Twilio's API
only. See https://www.twilio.com/docs/messaging/api/media-resource.
"""

import base64
import re
from collections.abc import Sequence
from time import monotonic
from urllib.parse import urljoin, urlsplit

from skein.adapters.outbound_http import OutboundHttpClient
from skein.errors import Ambiguous, AnswerTooLong, Failed, MediaRefused, Unavailable
from skein.models.common.http import HttpRequest

SECONDS = 30.0
MAX_STEPS = 4  # the first request and up to three redirects
API = re.compile(r"api(\.[a-z0-9-]+)*\.twilio\.com")
CONTENT = re.compile(r"[a-z0-9-]+\.twiliocdn\.com")
S3 = re.compile(r"s3[a-z0-9.-]*\.amazonaws\.com")
S3_FOLDERS = ("/media.twiliocdn.com/", "/mms.twiliocdn.com/")
UNAUTHORIZED = 401
GONE = frozenset({404, 410})
OK = 200


def fetch(
    url: str,
    credentials: Sequence[tuple[str, str]],
    *,
    api_url: str | None,
    max_bytes: int,
    loopback: bool,
) -> bytes | None:
    """Fetch a file; None if Twilio no longer has it.

    Args:
        url: The URL that a webhook named.
        credentials: The account's SID with each of its tokens; there are two during a rotation.
        api_url: The base URL of an API that replaces Twilio's default.
        max_bytes: The maximum size of the file, in bytes.
        loopback: Whether requests to this machine are allowed, as on the local stack.

    Raises:
        MediaRefused: The URL is not one of Twilio's, or the file has too many bytes.
        Unavailable: Twilio could not be reached; a retry is safe.
    """
    own = urlsplit(api_url or "").netloc
    client = OutboundHttpClient(loopback=loopback, max_bytes=max_bytes)
    until = monotonic() + SECONDS
    left = list(credentials)
    for _ in range(MAX_STEPS + len(left)):
        at_api = _is_api(url, own)
        if not (at_api or _is_content(url)):
            raise MediaRefused("gone")
        request = HttpRequest(method="GET", url=url, headers=_headers(left[0]) if at_api else {})
        try:
            answer, location = client.exchange(request, until)
        except Failed as error:
            raise MediaRefused("gone") from error
        except AnswerTooLong as error:
            raise MediaRefused("too_large") from error
        except Ambiguous as error:  # a read has no effect
            raise Unavailable("Twilio did not answer") from error
        if location is not None:
            url = urljoin(url, location)
        elif answer.status == OK:
            return answer.body
        elif answer.status in GONE:
            return None
        elif answer.status == UNAUTHORIZED and at_api and len(left) > 1:
            left.pop(0)
        else:
            raise Unavailable(f"Twilio answered {answer.status}")
    raise Unavailable("Twilio redirects too often")


def _headers(credentials: tuple[str, str]) -> dict[str, str]:
    token = base64.b64encode(":".join(credentials).encode()).decode()
    return {"authorization": f"Basic {token}"}


def _is_api(url: str, own: str) -> bool:
    """Return whether a URL belongs to Twilio's API, or to the API that replaces it."""
    parts = urlsplit(url)
    if own and parts.netloc == own:
        return True
    return parts.scheme == "https" and API.fullmatch(parts.netloc) is not None


def _is_content(url: str) -> bool:
    """Return whether a URL belongs to Twilio's content network."""
    parts = urlsplit(url)
    in_bucket = S3.fullmatch(parts.netloc) is not None and parts.path.startswith(S3_FOLDERS)
    return parts.scheme == "https" and (CONTENT.fullmatch(parts.netloc) is not None or in_bucket)
