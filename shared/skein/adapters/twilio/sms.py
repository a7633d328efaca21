"""SMS through Twilio's REST API (https://www.twilio.com/docs/messaging/api)."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from skein.channels.registry import channel_named
from skein.errors import Ambiguous, MissingSecret, SkeinError, SmsRejected, Throttled, Unavailable
from skein.models.common.base import to_utc
from skein.models.delivery.sms import CONNECTION_OVERRIDES, OutgoingSms, SentSms, status_named
from skein.ports import Secrets
from skein.settings import Settings

if TYPE_CHECKING:
    from twilio.rest import Client

# Imported at the first SMS, or by `load_adapters`.
LIBRARIES = ("twilio.rest", "twilio.rest.api")

API_URL = "https://api.twilio.com"
# https://www.twilio.com/docs/lookup/v2-api/reassigned-number. The layer has no client for it.
LOOKUPS_URL = "https://lookups.twilio.com"
MESSAGING_URL = "https://messaging.twilio.com"
SENDERS_URL = f"{MESSAGING_URL}/v2/Channels/Senders"
CONNECT_SECONDS = 3.05
READ_SECONDS = 10.0
# A look-up reads this many of the newest SMS between two numbers, more than are ever sent in the
# minutes after a post. Twilio's own date filter is not used: its resolution is days, and it filters
# by the date of sending, which a queued SMS does not have.
MAX_LOOKED_UP_SMS = 100
MAX_SENDERS = 1_000
MAX_FOUND_NUMBERS = 20  # Twilio also finds numbers that contain the given digits

UNAUTHORIZED, THROTTLED = 401, 429
CLIENT_FAULTS = range(400, 500)
MIN_ERROR_CODE = 10_000  # the library returns the HTTP status if Twilio gives no code


class TwilioSms:
    """`Sms` on Twilio.

    The client is created at the first call, and again if the secret changes.

    Args:
        secrets: The secret store. The secret contains `account_sid` and `auth_token`. During a
            rotation, it also contains `auth_token_next`, which is tried if Twilio refuses
            `auth_token`.
        settings: The settings, which name the secret and may override the URL of Twilio's API.
    """

    def __init__(self, secrets: Secrets, settings: Settings) -> None:
        self._secrets = secrets
        self._settings = settings
        self._made: dict[tuple[str, str], Client] = {}
        self._lock = threading.Lock()

    def send(self, sms: OutgoingSms) -> SentSms:
        clients = self._clients()
        fields = _addressed(sms)
        if sms.content is None:
            fields |= {"body": sms.text} if sms.text else {}
        else:
            fields["content_sid"] = sms.content.sid
            fields["content_variables"] = json.dumps(sms.content.variables)
        if sms.media_url is not None:
            fields["media_url"] = [sms.media_url]
        if sms.callback is not None:
            fields["status_callback"] = f"{sms.callback}{CONNECTION_OVERRIDES}"
        try:
            message = _asked(
                clients,
                lambda client: client.messages.create(**fields),
            )
            return _sent(message)
        except Exception as error:
            raise _meaning_of(error) from error

    def find(self, sms: OutgoingSms, *, since: datetime) -> tuple[SentSms, ...]:
        clients = self._clients()
        try:
            messages = _asked(
                clients,
                lambda client: client.messages.list(**_addressed(sms), limit=MAX_LOOKED_UP_SMS),
            )
            found = [_sent(message) for message in messages if sms.is_in(message.body or "")]
        except Exception as error:
            raise Unavailable(f"failed to ask Twilio: {type(error).__name__}") from error
        # Twilio's times are whole seconds, so an SMS of the same second counts as later.
        first = to_utc(since).replace(microsecond=0)
        return tuple(sent for sent in found if sent.created_at >= first)

    def has_number(self, phone: str, channel: str = "sms") -> bool:
        """See `skein.ports.Sms`; a deployment without a Twilio account has no number."""
        try:
            clients = self._clients()
        except Unavailable:
            if self._settings.twilio_secret:
                raise
            return False
        prefix = channel_named(channel).prefix
        try:
            if prefix:
                return f"{prefix}{phone}" in _senders(clients, channel)
            found = _asked(
                clients,
                lambda client: client.incoming_phone_numbers.list(
                    phone_number=phone, limit=MAX_FOUND_NUMBERS
                ),
            )
        except Exception as error:
            raise Unavailable(f"failed to ask Twilio: {type(error).__name__}") from error
        return any(number.phone_number == phone for number in found)

    def was_reassigned(self, phone: str, *, since: date) -> bool:
        """See `skein.ports.Sms`; Twilio knows this only for US numbers."""
        clients = self._clients()
        asked = {"Fields": "reassigned_number", "LastVerifiedDate": f"{since:%Y%m%d}"}
        try:
            url = f"{LOOKUPS_URL}/v2/PhoneNumbers/{quote(phone)}"
            answers = (client.request("GET", url, params=asked) for client in clients)
            accepted = next(one for one in answers if one.status_code != UNAUTHORIZED)
            answer = json.loads(accepted.text)
            reassigned = answer["reassigned_number"]["is_number_reassigned"]
        except Exception as error:
            raise Unavailable(f"failed to ask Twilio: {type(error).__name__}") from error
        return bool(reassigned == "yes")

    def media(self, url: str, *, max_bytes: int) -> bytes | None:
        from skein.adapters.twilio.media import fetch

        settings = self._settings
        return fetch(
            url,
            self._credentials(),
            api_url=settings.twilio_api_url,
            max_bytes=max_bytes,
            loopback=settings.local,
        )

    def _credentials(self) -> list[tuple[str, str]]:
        """Return the account's SID with each of its tokens; there are two during a rotation."""
        try:
            secret = self._secrets.get(self._settings.twilio_secret)
            tokens = [secret["auth_token"], *filter(None, [secret.get("auth_token_next")])]
            return [(secret["account_sid"], token) for token in tokens]
        except (MissingSecret, KeyError) as error:
            raise Unavailable("the Twilio credentials are missing") from error

    def _clients(self) -> "list[Client]":
        """Return a client for each token of the account; there are two tokens during a rotation."""
        credentials = self._credentials()
        with self._lock:
            self._made = {
                each: self._made.get(each) or _client(each, self._settings.twilio_api_url)
                for each in credentials
            }
            return list(self._made.values())


def _asked(clients: "Sequence[Client]", ask: Callable[["Client"], Any]) -> Any:
    """Make a request with the first token that Twilio accepts; a refused request has no effect."""
    *others, last = clients
    for client in others:
        try:
            return ask(client)
        except Exception as error:
            if _status_of(error) != UNAUTHORIZED:
                raise
    return ask(last)


def _status_of(error: Exception) -> int | None:
    """Return the HTTP status of an error; a failed list request has it in its response."""
    response = error.args[1] if len(error.args) > 1 else None
    return getattr(error, "status", None) or getattr(response, "status_code", None)


def _client(credentials: tuple[str, str], api_url: str | None) -> "Client":
    from twilio.http.http_client import TwilioHttpClient
    from twilio.rest import Client

    class HttpClient(TwilioHttpClient):  # type: ignore[misc] # the library has no types
        """Twilio's HTTP client with two time-outs, one connection per call, and any API URL.

        After Lambda has frozen the container, an open connection would break at its next use. Then
        it would be unknown whether Twilio accepted the SMS.
        """

        def request(
            self, method: str, url: str, *args: Any, headers: Mapping[str, str], **more: Any
        ) -> Any:
            if api_url is not None and url.startswith((API_URL, LOOKUPS_URL, MESSAGING_URL)):
                path = urlsplit(url).path
                url = api_url.rstrip("/") + path
            return super().request(
                method, url, *args, headers={**headers, "Connection": "close"}, **more
            )

    http_client = HttpClient()
    # The constructor accepts one number only, but the attribute may be a pair.
    http_client.timeout = (CONNECT_SECONDS, READ_SECONDS)
    return Client(*credentials, http_client=http_client)


def _senders(clients: "Sequence[Client]", channel: str) -> frozenset[str]:
    """Return the addresses from which the account sends on a channel.

    See https://www.twilio.com/docs/whatsapp/api/senders. The URL is named in this module, because
    Twilio's library would use another domain.
    """
    answers = (
        client.request("GET", SENDERS_URL, params={"Channel": channel, "PageSize": MAX_SENDERS})
        for client in clients
    )
    accepted = next(one for one in answers if one.status_code != UNAUTHORIZED)
    return frozenset(str(each["sender_id"]) for each in json.loads(accepted.text)["senders"])


def _addressed(sms: OutgoingSms) -> dict[str, Any]:
    """Return both addresses in Twilio's format for the channel."""
    prefix = channel_named(sms.channel).prefix
    return {"to": f"{prefix}{sms.phone}", "from_": f"{prefix}{sms.line}"}


def _sent(message: Any) -> SentSms:
    return SentSms(
        sid=message.sid,
        status=status_named(message.status) or "queued",
        created_at=message.date_created,
        error_code=message.error_code,
    )


def _meaning_of(error: Exception) -> SkeinError:
    """Map the error of a post to Skein's; `Ambiguous` if the post may have had an effect."""
    import requests
    from twilio.base.exceptions import TwilioRestException, TwilioServiceException

    if isinstance(error, TwilioRestException | TwilioServiceException):
        if error.status == THROTTLED:
            return Throttled("Twilio throttled the call")
        if error.status in CLIENT_FAULTS:
            known = error.code if error.code and error.code >= MIN_ERROR_CODE else None
            # Twilio's message may contain the phone number.
            return SmsRejected(f"Twilio rejected the SMS: {error.status}, code {known}", code=known)
    if isinstance(error, requests.ConnectionError) and _never_connected(error):
        return Unavailable("failed to reach Twilio")
    return Ambiguous(f"the outcome of a call to Twilio is unknown: {type(error).__name__}")


def _never_connected(error: Exception) -> bool:
    import requests
    from urllib3.exceptions import NewConnectionError

    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)
