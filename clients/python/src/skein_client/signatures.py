"""Check what Skein sends to your service, by the rules of Standard Webhooks."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

PREFIX = "whsec_"
TOLERANCE_SECONDS = 300


class BadSignature(Exception):
    """The request does not come from Skein, was changed, or is too old."""


def verify_signed(
    secret: str, headers: Mapping[str, str], payload: bytes, *, now: float | None = None
) -> Any:
    """Check the signature of a payload, and return its JSON.

    Args:
        secret: The secret of the tool or the event endpoint, which begins with `whsec_`.
        headers: The headers of the request; the case of names does not count.
        payload: The signed bytes.
        now: The time in seconds since 1970, for tests.

    Raises:
        BadSignature: The signature is missing or wrong, or older than five minutes.
    """
    known = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent_at = known["webhook-id"], known["webhook-timestamp"]
        age = abs((time.time() if now is None else now) - int(sent_at))
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        given = known["webhook-signature"].split()
    except (KeyError, ValueError, binascii.Error):
        raise BadSignature("the request has no signature of Skein") from None
    signed = f"{message_id}.{sent_at}.".encode() + payload
    wanted = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    fits = [hmac.compare_digest(wanted.encode(), one.encode()) for one in given]
    if age > TOLERANCE_SECONDS or not any(fits):
        raise BadSignature("the signature is wrong or too old")
    return json.loads(payload)


def verify_event(
    secret: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None
) -> dict[str, Any]:
    """Check an event, and return it.

    Args:
        secret: The secret of the event endpoint.
        headers: The headers of the request.
        body: The body, as it was received.
        now: The time in seconds since 1970, for tests.

    Returns:
        The event: `id`, `type`, `subject`, `time`, `data` and the rest of CloudEvents 1.0.

    Raises:
        BadSignature: The event was changed, or is too old.
    """
    event: dict[str, Any] = verify_signed(secret, headers, body, now=now)
    known = {name.lower(): value for name, value in headers.items()}
    if event.get("id") != known["webhook-id"]:
        raise BadSignature("the signature belongs to another event")
    return event


def verify_call(
    secret: str,
    headers: Mapping[str, str],
    method: str,
    url: str,
    body: bytes = b"",
    *,
    now: float | None = None,
) -> dict[str, Any]:
    """Check the call of a tool, and return its context.

    Args:
        secret: The secret of the tool.
        headers: The headers of the request.
        method: The method, such as `GET`.
        url: The whole URL, as the tool has it, with its query.
        body: The body.
        now: The time in seconds since 1970, for tests.

    Returns:
        The context: `tenant`, `agent_id`, `chat_id`, `run_id`, `person`, `readers` and
        `request_sha256`. `person` is None unless the call answers one person's messages alone.

    Raises:
        BadSignature: The context or the request was changed, or is too old.
    """
    known = {name.lower(): value for name, value in headers.items()}
    encoded = known.get("skein-context", "")
    try:
        payload = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except (ValueError, binascii.Error):
        raise BadSignature("the request has no context of Skein") from None
    context: dict[str, Any] = verify_signed(secret, headers, payload, now=now)
    request = hashlib.sha256(f"{method}\n{url}\n".encode() + body).hexdigest()
    if not hmac.compare_digest(request, context["request_sha256"]):
        raise BadSignature("the context belongs to another request")
    return context
