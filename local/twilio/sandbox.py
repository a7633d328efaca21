"""A sandbox that Twilio's own client can use in place of Twilio's REST API.

SMS and WhatsApp messages are only stored in a log and never sent. Every number belongs to the
account, except those that phones have used. Some numbers behave like Twilio's documented test
numbers: https://www.twilio.com/docs/iam/test-credentials.
"""

import base64
import json
import logging
import queue
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote

from local.events import Request, Response, json_response
from local.twilio.media import MediaStore
from local.twilio.sms_log import Sms, SmsLog
from local.twilio.webhooks import PREFIX, WHATSAPP, TwilioWebhooks
from skein.channels.segments import segment_count
from skein.models.common.base import rfc3339
from skein.models.config.templates import MessageTemplate
from skein.ports import Clock

FILES = f"{PREFIX}/files/"  # where a request for a file of a message is redirected to
API = "2010-04-01"
LOOKUP = "/v2/PhoneNumbers/"
SENDERS = "/v2/Channels/Senders"
MAX_BODY_CHARACTERS = 1_600

E164 = re.compile(r"\+[1-9][0-9]{6,14}")
ADDRESS = re.compile(rf"(?:{WHATSAPP})?{E164.pattern}")
OK, CREATED, REDIRECT, BAD_REQUEST, UNAUTHORIZED, NOT_FOUND = 200, 201, 307, 400, 401, 404

REASONS = {
    20003: "Authenticate",
    20404: "The requested resource was not found",
    21211: "Invalid 'To' Phone Number",
    21212: "Invalid 'From' Phone Number",
    21408: "Permission to send an SMS has not been enabled for the region of the 'To' number",
    21602: "Message body is required.",
    21606: "The 'From' number is not a valid, SMS-capable phone number of your account",
    21610: "Attempt to send to unsubscribed recipient",
    21611: "This 'From' number has exceeded the maximum number of queued messages",
    21612: "Message cannot be sent with the current combination of 'To' and 'From' parameters",
    21614: "'To' number is not a valid mobile number",
    21654: "ContentSid Required",
    21655: "The ContentSid is Invalid",
    21620: "Invalid media URL(s)",
    21617: "The concatenated message body exceeds the 1600 character limit",
}
BAD_RECIPIENTS = {
    "+15005550001": 21211,
    "+15005550002": 21612,
    "+15005550003": 21408,
    "+15005550004": 21610,
    "+15005550009": 21614,
}
REASSIGNED = "+15005550198"  # a look-up says that this number has a new owner
BAD_SENDERS = {"+15005550001": 21212, "+15005550007": 21606, "+15005550008": 21611}

# The statuses of an SMS and of a message of WhatsApp, in order; each causes a status callback.
STATUSES = ("queued", "sent", "delivered")
READ = (*STATUSES, "read")
REFUSED = ("queued", "failed")
SHOWN = ("image/jpeg", "image/png", "image/webp", "image/gif")  # by a browser, inside the page
NOT_FETCHED = 11200  # the file of a message could not be fetched
WINDOW = timedelta(hours=24)
WINDOW_CLOSED = 63016

logger = logging.getLogger(__name__)


class TwilioSandbox:
    """Sandbox of one Twilio account.

    Args:
        log: Stores the SMS.
        account: `account_sid` and `auth_token`.
        webhooks: Sends the status callbacks.
        media: Stores the files of the messages.
        on_sms: Called with each accepted SMS.
        senders: Returns the numbers that the account has registered for WhatsApp.
        templates: Returns the template with this id for messages from a number; None if there is
            none.
    """

    def __init__(
        self,
        log: SmsLog,
        *,
        account: Mapping[str, str],
        webhooks: TwilioWebhooks,
        media: MediaStore,
        clock: Clock,
        on_sms: Callable[[Sms], None],
        senders: Callable[[], Iterable[str]] = tuple,
        templates: Callable[[str, str], MessageTemplate | None] = lambda _number, _sid: None,
    ) -> None:
        self._log = log
        self._sid = account["account_sid"]
        self._token = account["auth_token"]
        self._webhooks = webhooks
        self._media = media
        self._clock = clock
        self._on_sms = on_sms
        self._senders = senders
        self._templates = templates
        self._todo: queue.SimpleQueue[tuple[str, str, int | None] | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._left = 0
        self.callbacks = 0
        self._thread = threading.Thread(target=self._call_back, name="twilio", daemon=True)

    def start(self) -> None:
        """Start the thread that sends status callbacks."""
        self._thread.start()

    def stop(self) -> None:
        """Send the status callbacks that are already queued, and stop their thread."""
        self._todo.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def settle(self, *, until: float) -> bool:
        """Wait until all status callbacks are sent.

        Args:
            until: When to give up, as a time of `time.monotonic`.

        Returns:
            Whether all status callbacks were sent in time.
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self._left, until - time.monotonic())

    def answer(self, request: Request) -> Response:
        """Handle a request to the REST API, whose path starts with `PREFIX`."""
        if request.path.startswith(FILES):  # the address is the secret
            return self._file(request.path.removeprefix(FILES))
        return self._answer(request)

    def _answer(self, request: Request) -> Response:
        if not self._authenticated(request.headers.get("authorization", "")):
            return _refusal(UNAUTHORIZED, 20003)
        if (file := re.fullmatch(rf"{PREFIX}/{API}/.*/Media/(\w+)", request.path)) is not None:
            return Response(REDIRECT, (("location", f"{FILES}{file[1]}"),))
        query = {name: values[0] for name, values in parse_qs(request.query).items()}
        account = f"{PREFIX}/{API}/Accounts/{self._sid}"
        messages = f"{account}/Messages"
        if (about := self._about_number(request, account, query)) is not None:
            return about
        if request.path == f"{messages}.json" and request.method == "POST":
            return self._create(dict(parse_qsl(request.body.decode(), keep_blank_values=True)))
        if request.path == f"{messages}.json" and request.method == "GET":
            return self._list(query)
        one = re.fullmatch(rf"{messages}/(\w+)\.json", request.path)
        found = self._log.find(sid=one[1]) if one and request.method == "GET" else []
        return json_response(200, self._resource(found[0])) if found else _refusal(NOT_FOUND, 20404)

    def _file(self, sid: str) -> Response:
        file = self._media.get(sid)
        if file is None:
            return _refusal(NOT_FOUND, 20404)
        shown = file.content_type in SHOWN
        headers = (
            ("content-type", file.content_type if shown else "application/octet-stream"),
            ("content-disposition", "inline" if shown else "attachment"),
            ("x-content-type-options", "nosniff"),
        )
        return Response(OK, headers, file.data)

    def _about_number(
        self, request: Request, account: str, query: Mapping[str, str]
    ) -> Response | None:
        """Answer a request about phone numbers; return None for any other request."""
        path = request.path if request.method == "GET" else ""
        if path == f"{account}/IncomingPhoneNumbers.json":
            return self._numbers(query.get("PhoneNumber", ""))
        if path == f"{PREFIX}{SENDERS}":
            senders = [{"sender_id": f"{WHATSAPP}{each}"} for each in self._senders()]
            return json_response(200, {"senders": senders, "meta": {"next_page_url": None}})
        if path.startswith(f"{PREFIX}{LOOKUP}"):
            phone = unquote(path.removeprefix(f"{PREFIX}{LOOKUP}"))
            reassigned = {"is_number_reassigned": "yes" if phone == REASSIGNED else "no"}
            return json_response(200, {"phone_number": phone, "reassigned_number": reassigned})
        return None

    def _authenticated(self, header: str) -> bool:
        expected = base64.b64encode(f"{self._sid}:{self._token}".encode()).decode()
        return secrets.compare_digest(header.encode(), f"Basic {expected}".encode())

    def _create(self, form: Mapping[str, str]) -> Response:
        sender, recipient, body = (form.get(name, "") for name in ("From", "To", "Body"))
        variables = json.loads(form.get("ContentVariables") or "{}")
        template = None
        if sid := form.get("ContentSid"):
            template = self._templates(sender.removeprefix(WHATSAPP), sid)
            body = template.body(variables.get("1", "")) if template is not None else ""
        code = self._objection(sender, recipient, body, form.get("MediaUrl"))
        if sid and template is None:
            code = 21655
        if code is not None:
            return _refusal(BAD_REQUEST, code)
        sms = Sms(
            sid=f"SM{secrets.token_hex(16)}",
            sender=sender,
            recipient=recipient,
            body=body,
            status=STATUSES[0],
            created_at=rfc3339(self._clock.now().replace(microsecond=0)),
            segments=1 if sender.startswith(WHATSAPP) else segment_count(body),
            callback=form.get("StatusCallback", ""),
            buttons=_buttons(template, variables),
            media=((form["MediaUrl"], ""),) if "MediaUrl" in form else (),
        )
        closed = self._is_closed(sms, template)
        statuses = REFUSED if closed else READ if sender.startswith(WHATSAPP) else STATUSES
        self._log.put(sms)
        self._on_sms(sms)
        with self._changed:
            self._left += len(statuses)
        for status in statuses:
            self._todo.put((sms.sid, status, WINDOW_CLOSED if status == "failed" else None))
        return json_response(CREATED, self._resource(sms))

    def _is_closed(self, sms: Sms, template: MessageTemplate | None) -> bool:
        """Return whether a message is outside WhatsApp's window, and uses no approved template."""
        if not sms.sender.startswith(WHATSAPP) or (template is not None and template.approved):
            return False
        heard = self._log.heard(sms.recipient, sms.sender)
        now = datetime.fromisoformat(sms.created_at)
        return heard is None or now >= datetime.fromisoformat(heard) + WINDOW

    def _objection(
        self, sender: str, recipient: str, body: str, media_url: str | None
    ) -> int | None:
        """Return the error code with which Twilio would refuse an SMS; None if it would not."""
        checks = (
            (BAD_SENDERS.get(sender), sender in BAD_SENDERS),
            (21212, not ADDRESS.fullmatch(sender)),
            (BAD_RECIPIENTS.get(recipient), recipient in BAD_RECIPIENTS),
            (21211, not ADDRESS.fullmatch(recipient)),
            (21612, sender.startswith(WHATSAPP) != recipient.startswith(WHATSAPP)),
            (21602, not body and media_url is None),
            (21620, media_url is not None and not media_url.startswith(("http://", "https://"))),
            (21617, len(body) > MAX_BODY_CHARACTERS),
        )
        return next((code for code, holds in checks if holds), None)

    def _list(self, query: Mapping[str, str]) -> Response:
        found = self._log.find(sender=query.get("From"), recipient=query.get("To"))
        page = [self._resource(sms) for sms in reversed(found) if _in_time(sms, query)]
        return self._page("messages", "Messages", page[: int(query.get("PageSize", 50))])

    def _numbers(self, number: str) -> Response:
        """Return a list with this number of the account; empty if a phone has used it."""
        found = E164.fullmatch(number) and not self._log.is_phone(number)
        sid = f"PN{number.removeprefix('+'):0>32}"
        page = [{"sid": sid, "account_sid": self._sid, "phone_number": number}] if found else []
        return self._page("incoming_phone_numbers", "IncomingPhoneNumbers", page)

    def _page(self, key: str, resource: str, page: Sequence[Mapping[str, Any]]) -> Response:
        uri = f"/{API}/Accounts/{self._sid}/{resource}.json"
        return json_response(
            200,
            {
                key: page,
                "page": 0,
                "page_size": len(page),
                "start": 0,
                "end": max(0, len(page) - 1),
                "uri": uri,
                "first_page_uri": uri,
                "next_page_uri": None,
                "previous_page_uri": None,
            },
        )

    def _resource(self, sms: Sms) -> dict[str, Any]:
        uri = f"/{API}/Accounts/{self._sid}/Messages/{sms.sid}"
        at = format_datetime(datetime.fromisoformat(sms.created_at))
        return {
            "account_sid": self._sid,
            "api_version": API,
            "body": sms.body,
            "date_created": at,
            "date_sent": None if sms.status == STATUSES[0] else at,
            "date_updated": at,
            "direction": "outbound-api",
            "error_code": sms.error_code,
            "error_message": None,
            "from": sms.sender,
            "messaging_service_sid": None,
            "num_media": str(len(sms.media)),
            "num_segments": str(sms.segments),
            "price": None,
            "price_unit": "USD",
            "sid": sms.sid,
            "status": sms.status,
            "subresource_uris": {"media": f"{uri}/Media.json"},
            "to": sms.recipient,
            "uri": f"{uri}.json",
        }

    def _call_back(self) -> None:
        while (todo := self._todo.get()) is not None:
            try:
                sms = self._moved(*todo)
                if sms is not None and sms.callback:
                    self._tell(sms)
            except Exception:  # the thread must not end: `settle` waits for each callback
                logger.exception("status callback failed")
            with self._changed:
                self._left -= 1
                self.callbacks += 1
                self._changed.notify_all()

    def _moved(self, sid: str, status: str, code: int | None) -> Sms | None:
        """Store the next status of a message; return None if the message has failed before.

        Twilio fetches the file of a message before it sends the message.
        """
        [sms] = self._log.find(sid=sid)
        if sms.status == "failed":
            return None
        if status == "sent" and sms.media:
            file = self._media.fetch(sms.media[0][0])
            if file is None:
                return self._log.set_status(sid, "failed", NOT_FETCHED)
            self._log.set_media(sid, ((self._media.put(file), file.content_type),))
        return self._log.set_status(sid, status, code)

    def _tell(self, sms: Sms) -> None:
        fields = {
            "MessageStatus": sms.status,
            "SmsStatus": sms.status,
            "MessageSid": sms.sid,
            "SmsSid": sms.sid,
            "AccountSid": self._sid,
            "ApiVersion": API,
            "From": sms.sender,
            "To": sms.recipient,
            **({"ErrorCode": str(sms.error_code)} if sms.error_code is not None else {}),
            **(_of_channel(sms) if sms.recipient.startswith(WHATSAPP) else {}),
        }
        response = self._webhooks.post(sms.callback, fields)
        if response.status >= BAD_REQUEST:
            logger.warning("status callback got the response %d", response.status)


def _buttons(
    template: MessageTemplate | None, variables: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return the quick replies of a message, as pairs of title and id."""
    count = template.buttons if template is not None else 0
    return tuple(
        (variables.get(str(2 + n), ""), variables.get(str(2 + count + n), "")) for n in range(count)
    )


def _of_channel(sms: Sms) -> dict[str, str]:
    """Return the additional fields of a status callback of WhatsApp."""
    event = {"EventType": sms.status.upper()} if sms.status in {"delivered", "read"} else {}
    return {
        "ChannelInstallSid": "XE" + "0" * 32,
        "ChannelPrefix": WHATSAPP.rstrip(":"),
        "ChannelToAddress": sms.recipient,
        "StructuredMessage": "false",
        **event,
    }


def _in_time(sms: Sms, query: Mapping[str, str]) -> bool:
    """Return whether an SMS matches the `DateSent` filters, which are dates or timestamps."""
    for name, value in query.items():
        sent = sms.created_at[: len(value)].rstrip("Z")
        wanted = value.rstrip("Z")
        if (
            (name == "DateSent" and not sent.startswith(wanted))
            or (name == "DateSent>" and sent < wanted)
            or (name == "DateSent<" and sent > wanted)
        ):
            return False
    return True


def _refusal(status: int, code: int) -> Response:
    return json_response(
        status,
        {
            "code": code,
            "message": REASONS[code],
            "more_info": f"https://www.twilio.com/docs/errors/{code}",
            "status": status,
        },
    )
