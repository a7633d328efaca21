"""A text of a person to a deployed line, signed as Twilio signs, and its answer."""

import base64
import hashlib
import hmac
import time
import urllib.error
import urllib.request
import uuid
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

from tools.rehearsal.outside import Twilio

LINE = "+15005550006"
PERSON = "+14155550142"
ANSWER_SECONDS = 90.0
POLL_SECONDS = 0.2


class NoAnswerError(Exception):
    """The text was refused, or no answer came."""


def signature(url: str, form: dict[str, str], token: str) -> str:
    """Sign a form as in https://www.twilio.com/docs/usage/security#validating-requests."""
    signed = url + "".join(f"{name}{form[name]}" for name in sorted(form))
    digest = hmac.new(token.encode(), signed.encode(), hashlib.sha1).digest()
    return base64.b64encode(digest).decode()


def text(api: str, *, webhook: str, account: tuple[str, str], twilio: Twilio, answer: str) -> float:
    """Send a text to the line and wait until its answer is handed to Twilio.

    Args:
        api: The URL at which this machine reaches the API.
        webhook: The URL that Twilio calls, which is part of the signature.
        account: The account's SID and token.
        twilio: Takes the answer.
        answer: The text of the answer.

    Returns:
        The seconds until then.

    Raises:
        NoAnswerError: The text was refused, or no answer came.
    """
    sid, token = account
    form = {
        "MessageSid": f"SM{uuid.uuid4().hex}",
        "AccountSid": sid,
        "ApiVersion": "2010-04-01",
        "From": PERSON,
        "To": LINE,
        "Body": "How many push-ups?",
        "NumMedia": "0",
    }
    began = time.monotonic()
    status = _post(api + urlsplit(webhook).path, form, signature(webhook, form, "another token"))
    if status != HTTPStatus.FORBIDDEN:
        raise NoAnswerError(f"a text with a wrong signature was answered with {status}, not 403")
    status = _post(api + urlsplit(webhook).path, form, signature(webhook, form, token))
    if status != HTTPStatus.OK:
        raise NoAnswerError(f"the webhook answered {status}")
    while (passed := time.monotonic() - began) < ANSWER_SECONDS:
        for sms in twilio.sent:
            if sms["To"] == PERSON and sms["From"] == LINE and sms["Body"] == answer:
                return passed
        time.sleep(POLL_SECONDS)
    raise NoAnswerError(f"no answer within {ANSWER_SECONDS:.0f} s; Twilio has {twilio.sent}")


def _post(url: str, form: dict[str, str], signed: str) -> int:
    headers = {
        "content-type": "application/x-www-form-urlencoded; charset=UTF-8",
        "x-twilio-signature": signed,
    }
    data = urlencode(form).encode()
    request = urllib.request.Request(url, data, headers, method="POST")  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
