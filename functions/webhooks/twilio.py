"""Twilio's webhooks: check the signature and parse the form fields."""

import base64
import logging
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import ValidationError

from skein.bootstrap.ports import Ports
from skein.channels.registry import channel_at
from skein.errors import Forbidden, Invalid, TooLarge
from skein.models.common.base import Value
from skein.models.common.reason import Reason
from skein.models.delivery.sms import (
    CONNECTION_OVERRIDES,
    InboundSms,
    StatusReport,
    status_named,
)
from webhooks.event import Webhook

MAX_BODY_CHARACTERS = 64 * 1024  # Twilio's longest bodies are a few KiB
MAX_FIELDS = 500
MAX_MEDIA = 10
SID = re.compile(r"[0-9A-Za-z]{1,64}")
E164 = re.compile(r"\+[1-9][0-9]{6,14}")
NUMBER = re.compile(r"[0-9]{1,100}")  # far fewer digits than the limit of `int`

NOTHING_TO_SAY: Mapping[str, Any] = {
    "statusCode": 200,
    "headers": {"content-type": "text/xml"},
    "body": "<Response/>",
}

Form = Mapping[str, str]
V = TypeVar("V", bound=Value)

logger = logging.getLogger(__name__)


def signed_fields(webhook: Webhook, ports: Ports) -> Form:
    """Verify a Twilio webhook's signature and return its form fields.

    The signed URL is the URL that Twilio was given: `public_base_url`, the route, and the query
    string as sent. Stages and domains of the gateway are not part of this URL. A request to the
    function's own URL is signed for that URL. Twilio may also sign the connection overrides, so the
    URL is checked without and with them. If a field is repeated, the first value is used.

    Raises:
        Forbidden: The signature is missing or wrong.
        Invalid: The body is not a form in UTF-8, or has more than `MAX_FIELDS` fields.
        TooLarge: The body is longer than `MAX_BODY_CHARACTERS`.
    """
    signature = webhook.headers.get("x-twilio-signature")
    if not signature:
        raise Forbidden("the signature is missing", reason=Reason.WRONG_SIGNATURE)
    fields = _fields(webhook)
    query = f"?{webhook.query}" if webhook.query else ""
    base_url = webhook.origin or ports.settings.public_base_url
    url = f"{base_url.rstrip('/')}{webhook.path}{query}"
    if not any(
        ports.verifier.verify(url=each, parameters=fields, signature=signature)
        for each in (url, url + CONNECTION_OVERRIDES)
    ):
        raise Forbidden("the signature is invalid", reason=Reason.WRONG_SIGNATURE)
    return dict(reversed(fields))


def named_in(form: Form, *, line: Literal["From", "To"]) -> dict[str, str]:
    """Return the valid log fields that identify the SMS of a signed form.

    Args:
        form: The fields of the form; empty if the signature is wrong.
        line: The name of the field with the line's number.
    """
    _, number = channel_at(form.get(line, ""))
    found = {"sid": (SID, form.get("MessageSid", "")), "line": (E164, number)}
    return {name: value for name, (valid, value) in found.items() if valid.fullmatch(value)}


def inbound_sms(form: Form) -> InboundSms:
    """Parse an inbound message from a form.

    The prefix of the addresses names the channel, such as `whatsapp:`. See
    https://www.twilio.com/docs/messaging/guides/webhook-request.

    Raises:
        Invalid: A field is missing or malformed.
    """
    count = form.get("NumMedia") or "0"
    if NUMBER.fullmatch(count) is None:
        raise Invalid("NumMedia is not a number")
    media = [
        {
            "url": form[f"MediaUrl{n}"],
            "content_type": form.get(f"MediaContentType{n}") or "application/octet-stream",
        }
        for n in range(min(int(count), MAX_MEDIA))
        if f"MediaUrl{n}" in form
    ]
    if int(count) > MAX_MEDIA:
        logger.warning("files of a message left out", extra={"files": int(count) - MAX_MEDIA})
    channel, sender = channel_at(form.get("From", ""))
    same, recipient = channel_at(form.get("To", ""))
    if channel is not same:
        raise Invalid("both addresses must use the same channel")
    return _valid(
        InboundSms,
        {
            "channel": channel.name,
            "account_sid": form.get("AccountSid"),
            "message_sid": form.get("MessageSid"),
            "sender": sender if "From" in form else None,
            "recipient": recipient if "To" in form else None,
            "body": form.get("Body", ""),
            "media": media,
            "button": form.get("ButtonPayload") or None,
            "replied_to": form.get("OriginalRepliedMessageSid") or None,
            "opt_out_type": form.get("OptOutType"),
        },
    )


def status_report(webhook: Webhook, form: Form) -> StatusReport | None:
    """Parse the status of a message from a status callback; None for an unknown status.

    See https://www.twilio.com/docs/messaging/guides/track-outbound-message-status.

    Raises:
        Invalid: A field of the form or of the callback's URL is missing or malformed.
    """
    status = status_named(form.get("MessageStatus", ""))
    if status is None:
        return None
    named = dict(parse_qsl(webhook.query, keep_blank_values=True))
    return _valid(
        StatusReport,
        {
            "tenant": named.get("tenant"),
            "chat_id": named.get("chat"),
            "delivery_id": named.get("delivery"),
            "part": named.get("part"),
            "sid": form.get("MessageSid"),
            "status": status,
            "error_code": form.get("ErrorCode") or None,
        },
    )


def _fields(webhook: Webhook) -> list[tuple[str, str]]:
    body = webhook.body
    if len(body) > MAX_BODY_CHARACTERS:
        raise TooLarge("the body is too large")
    try:
        if webhook.encoded:
            body = base64.b64decode(body, validate=True).decode()
        return parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Invalid("the body is not a UTF-8 form") from None


def _valid(kind: type[V], values: Mapping[str, object]) -> V:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        names = sorted({str(problem["loc"][0]) for problem in error.errors()})
        raise Invalid("fields are missing or malformed", details={"fields": names}) from None
