"""Developer API under `/local`, for users and tests on this machine only."""

import base64
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

from local.errors import BadRequestError, RestlessError
from local.events import Request, Response, json_response
from local.mobile_push import LocalPush
from local.polling.queue_depths import QueueDepth
from local.timing.clock import TurnableClock
from local.timing.clock_control import ClockControl
from local.timing.due_events import MAX_EVENTS, DueEvents
from local.twilio.media import MediaFile, MediaStore
from local.twilio.no_answer import NoAnswer
from local.twilio.sandbox import ADDRESS, E164, FILES
from local.twilio.sms_log import Sms, SmsLog
from local.twilio.webhooks import TwilioWebhooks
from local.web.errors import error_answer
from local.web.token_signer import TokenSigner
from skein.channels.segments import segment_count
from skein.errors import Conflict
from skein.models.common.base import rfc3339
from skein.models.common.reason import meaning_of
from skein.services.directory.assigned_numbers import AssignedNumbers

PREFIX = "/local/"
MAX_SECONDS = 10 * 366 * 86_400
DEFAULT_SCOPE = "chat"
MAX_WAIT_SECONDS = 25.0
MAX_SMS = 200
MAX_FILES = 10  # of a message
MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+")
OK = 200

Values = Mapping[str, Any]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DeveloperApi:
    """Developer API of a local stack.

    Attributes:
        signer: Creates tokens.
        webhooks: Sends inbound SMS to the stack.
        sms_log: Contains the inbound and outbound SMS.
        files: Contains the files of these SMS.
        no_answer: Finds the message that belongs to an SMS, and why the message gets no answer.
        clock_control: Advances the clock and drains the queues.
        due_events: Lists the events that fire at a later time.
        queues: Returns the depths of the queues.
        config: The response of `GET /local/config`, except for the time.
        on_sms: Called with the sender, recipient and body of each SMS to a line.
        numbers: Assigns phone numbers to tenants.
        push: Keeps the notifications that phones would show.
        day: Returns the state and the tour of the recorded day.
    """

    signer: TokenSigner
    webhooks: TwilioWebhooks
    sms_log: SmsLog
    files: MediaStore
    no_answer: NoAnswer
    clock: TurnableClock
    clock_control: ClockControl
    due_events: DueEvents
    queues: Callable[[], Sequence[QueueDepth]]
    config: Mapping[str, str]
    on_sms: Callable[[str, str, str], None]
    numbers: AssignedNumbers
    push: LocalPush
    day: Callable[[], Values]

    def answer(self, request: Request) -> Response:
        """Handle a call. An error response has a message of one sentence."""
        call = CALLS.get((request.method, request.path.removeprefix(PREFIX)))
        if call is None:
            known = ", ".join(f"{method} {name}" for method, name in CALLS)
            return error_answer(404, "not_found", f"Route not found. The routes are {known}.")
        try:
            return json_response(200, call.answer(self, call.values(request)))
        except BadRequestError as error:
            return error_answer(400, "invalid", str(error))
        except RestlessError as error:
            return error_answer(503, "unavailable", str(error), details=error.report)

    def _config(self, _values: Values) -> object:
        return {**self.config, **self._time()}

    def _time(self) -> Values:
        ahead = self.clock.ahead.total_seconds()
        return {"now": rfc3339(self.clock.now()), "offset_seconds": ahead}

    def _token(self, body: Values) -> object:
        scope = body.get("scope", DEFAULT_SCOPE)
        if isinstance(scope, list) and all(isinstance(part, str) for part in scope):
            scope = " ".join(scope)
        if not isinstance(scope, str):
            raise BadRequestError('`scope` must be a string such as "chat admin".')
        sub, tenant = _text(body, "sub"), _text(body, "tenant")
        name = _text(body, "name") if body.get("name") is not None else None
        token = self.signer.token(sub=sub, tenant=tenant, scope=scope, name=name)
        return {"token": token}

    def _sms_list(self, query: Values) -> object:
        numbers = {name: _address(query[name]) for name in ("from", "to") if name in query}
        found = self.sms_log.find(sender=numbers.get("from"), recipient=numbers.get("to"))
        return {"items": [_shown(sms) for sms in found], "next_cursor": None}

    def _phone(self, query: Values) -> object:
        named = [name for name in ("number", "line") if name in query]
        numbers = {name: _address(query[name]) for name in named}
        number, line = numbers.get("number"), numbers.get("line")
        if number is None or not ADDRESS.fullmatch(number):
            raise BadRequestError("`number` must be a phone number such as +15005550100.")
        if "after" in query:
            after, seconds = _whole(query, "after"), _whole(query, "wait")
            self.sms_log.wait(after, min(seconds, MAX_WAIT_SECONDS))
        version = self.sms_log.version
        found = self.sms_log.of_phone(number, line, MAX_SMS)
        items = [{**_shown(sms), "direction": sms.direction} for sms in found]
        return {"version": version, "items": items, "no_answer": self._silence(found)}

    def _message(self, query: Values) -> object:
        sms = self.sms_log.get(_text(query, "sid"))
        found = self.no_answer.message_of(sms) if sms is not None else None
        return {
            "chat_id": None if found is None else found.chat_id,
            "seq": None if found is None else found.seq,
        }

    def _notifications(self, _values: Values) -> object:
        return {"items": [asdict(shown) for shown in self.push.shown()]}

    def _day(self, _values: Values) -> object:
        return self.day()

    def _silence(self, found: Sequence[Sms]) -> Values | None:
        """Return why a phone's newest SMS gets no answer; None if it will, or the line sent it."""
        if not found or found[-1].direction != "inbound" or found[-1].status != "received":
            return None
        reason = self.no_answer.reason_of(found[-1])
        return None if reason is None else {"reason": reason, "meaning": meaning_of(reason)}

    def _text(self, body: Values) -> object:
        sender, recipient = (_phone(body, end, ADDRESS) for end in ("from", "to"))
        text, sid, button = (body.get(name) for name in ("body", "message_sid", "button"))
        if not isinstance(text, str):
            raise BadRequestError("`body` must be a string.")
        if sid is not None and not (isinstance(sid, str) and sid):
            raise BadRequestError("`message_sid` must be a string.")
        if button is not None and not isinstance(button, str):
            raise BadRequestError("`button` must be a string.")
        media = tuple((self.files.put(each), each.content_type) for each in _files(body))
        self.on_sms(sender, recipient, text)
        sent_at = self.clock.now().replace(microsecond=0)
        sid, response = self.webhooks.text(
            sender=sender, recipient=recipient, body=text, sid=sid, button=button, media=media
        )
        sms = Sms(
            sid=sid,
            sender=sender,
            recipient=recipient,
            body=text,
            status="received" if response.status == OK else "refused",
            created_at=rfc3339(sent_at),
            segments=max(1, segment_count(text)),
            callback="",
            direction="inbound",
            media=media,
        )
        try:
            self.sms_log.put(sms)
        except OSError as error:  # a full disk, of which the webhook's status tells
            logger.warning("the SMS is missing in the log: %s", error)
        return {
            "message_sid": sid,
            "status": response.status,
            "body": response.body.decode(errors="replace"),
        }

    def _number(self, body: Values) -> object:
        tenant, phone = _text(body, "tenant"), _phone(body, "phone")
        try:
            number = self.numbers.assign(tenant, phone)
        except Conflict as error:
            raise BadRequestError(f"{error.message[0].upper()}{error.message[1:]}.") from error
        return {"phone": number.address.address, "tenant": number.tenant}

    def _turn(self, body: Values) -> object:
        if "reset" in body:
            if body != {"reset": True}:
                raise BadRequestError("`reset` must be true, and the only field.")
            return self.clock_control.reset()
        seconds = body.get("advance_seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise BadRequestError("`advance_seconds` must be a number.")
        if not 0 <= seconds <= MAX_SECONDS:  # also rejects NaN
            raise BadRequestError("`advance_seconds` must be between 0 and ten years.")
        return self.clock_control.advance(timedelta(seconds=seconds))

    def _due(self, query: Values) -> object:
        limit = _whole(query, "limit") if "limit" in query else MAX_EVENTS
        if not 1 <= limit <= MAX_EVENTS:
            raise BadRequestError(f"`limit` must be from 1 to {MAX_EVENTS}.")
        items, more = self.due_events.first(limit)
        return {**self._time(), "items": items, "more": more}

    def _queues(self, _values: Values) -> object:
        return {**self._time(), "items": [asdict(depth) for depth in self.queues()]}

    def _drain(self, _values: Values) -> object:
        return self.clock_control.drain()


@dataclass(frozen=True)
class LocalCall:
    """A call of the developer API. `docs/local.md` describes each call.

    Attributes:
        answer: Returns the response of a `DeveloperApi` to the request's values.
        names: The fields of the body or, for GET, the parameters of the query.
    """

    answer: Callable[[DeveloperApi, Values], object]
    names: tuple[str, ...] = ()

    def values(self, request: Request) -> Values:
        """Return the fields or parameters that a request has.

        Raises:
            BadRequestError: The body is not a JSON object, or a name is not in `names`.
        """
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        in_query = request.method == "GET"
        values = query if in_query else _object(request.body)
        unknown = sorted((set(values) - set(self.names)) | (set() if in_query else set(query)))
        if unknown:
            known = ", ".join(f"`{name}`" for name in self.names) or "none"
            raise BadRequestError(f"`{unknown[0]}` is unknown. The names are {known}.")
        return values


CALLS: dict[tuple[str, str], LocalCall] = {
    ("GET", "config"): LocalCall(DeveloperApi._config),
    ("POST", "token"): LocalCall(DeveloperApi._token, ("sub", "tenant", "scope", "name")),
    ("POST", "sms"): LocalCall(
        DeveloperApi._text, ("from", "to", "body", "media", "message_sid", "button")
    ),
    ("GET", "sms"): LocalCall(DeveloperApi._sms_list, ("from", "to")),
    ("GET", "message"): LocalCall(DeveloperApi._message, ("sid",)),
    ("GET", "phone"): LocalCall(DeveloperApi._phone, ("number", "line", "after", "wait")),
    ("GET", "notifications"): LocalCall(DeveloperApi._notifications),
    ("GET", "day"): LocalCall(DeveloperApi._day),
    ("POST", "numbers"): LocalCall(DeveloperApi._number, ("phone", "tenant")),
    ("POST", "clock"): LocalCall(DeveloperApi._turn, ("advance_seconds", "reset")),
    ("GET", "due"): LocalCall(DeveloperApi._due, ("limit",)),
    ("GET", "queues"): LocalCall(DeveloperApi._queues),
    ("POST", "drain"): LocalCall(DeveloperApi._drain),
}


def _object(body: bytes) -> dict[str, Any]:
    """Parse a body as a JSON object. An empty body is an object without fields."""
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BadRequestError("The body must be a JSON object.")
    return value


def _text(body: Values, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise BadRequestError(f"`{name}` must be a non-empty string.")
    return value


def _files(body: Values) -> list[MediaFile]:
    """Return the files of a message. In the body, each file's bytes are in base64."""
    given = body.get("media", [])
    if not isinstance(given, list) or len(given) > MAX_FILES:
        raise BadRequestError(f"`media` must be a list of at most {MAX_FILES} files.")
    found = []
    for each in given:
        match each:
            case {"type": str(kind), "data": str(data), **rest} if not rest:
                pass
            case _:
                raise BadRequestError("Each file in `media` must have `type` and `data`.")
        try:
            found.append(MediaFile(kind, base64.b64decode(data, validate=True)))
        except ValueError:
            raise BadRequestError("`data` must be bytes in base64.") from None
        if MEDIA_TYPE.fullmatch(kind) is None:
            raise BadRequestError("`type` must be a media type such as image/jpeg.")
    return found


def _whole(query: Values, name: str) -> int:
    value = query.get(name, "0")
    if not value.isdecimal():
        raise BadRequestError(f"`{name}` must be a whole number.")
    return int(value)


def _address(value: str) -> str:
    """Return an address that a query contains.

    An unescaped plus sign in a query means a space, so a leading space becomes a plus.
    """
    prefix, _, number = value.rpartition(":")
    return f"{prefix}{':' if prefix else ''}+{number.strip(' +')}"


def _phone(body: Values, name: str, form: re.Pattern[str] = E164) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not form.fullmatch(value):
        raise BadRequestError(f"`{name}` must be a phone number such as +15005550006.")
    return value


def _shown(sms: Sms) -> dict[str, object]:
    return {
        "sid": sms.sid,
        "from": sms.sender,
        "to": sms.recipient,
        "body": sms.body,
        "status": sms.status,
        "segments": sms.segments,
        "error_code": sms.error_code,
        "buttons": [{"title": title, "id": code} for title, code in sms.buttons],
        "media": [{"url": f"{FILES}{sid}", "type": kind} for sid, kind in sms.media if kind],
        "created_at": sms.created_at,
    }
