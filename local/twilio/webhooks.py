"""Twilio's webhook requests: forms, signed with the account's auth token.

See https://www.twilio.com/docs/usage/webhooks/webhooks-security.
"""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode, urlsplit

from twilio.request_validator import RequestValidator

from local.events import Request, Response
from skein.channels.segments import segment_count

API_VERSION = "2010-04-01"
PREFIX = "/local/twilio"  # of the sandbox's REST API
SMS_PATH = "/webhooks/twilio/sms"
WHATSAPP = "whatsapp:"

logger = logging.getLogger(__name__)


class TwilioWebhooks:
    """Sends the webhooks of one Twilio account.

    Args:
        account: `account_sid` and `auth_token`.
        base_url: The stack's URL. Requests to other URLs are never sent.
        send: Sends a request to the stack and returns the response.
    """

    def __init__(
        self, account: Mapping[str, str], *, base_url: str, send: Callable[[Request], Response]
    ) -> None:
        self._account_sid = account["account_sid"]
        self._validator = RequestValidator(account["auth_token"])
        self._base_url = base_url
        self._send = send

    def post(self, url: str, fields: Mapping[str, str]) -> Response:
        """Send a form to a URL of the stack. Other URLs are not called, and give the status 404."""
        if not url.startswith(f"{self._base_url}/"):
            logger.warning("webhook not sent: %s is not this stack", url)
            return Response(404)
        target = urlsplit(url)
        headers = {
            "content-type": "application/x-www-form-urlencoded; charset=UTF-8",
            "host": target.netloc,
            "i-twilio-idempotency-token": secrets.token_hex(16),
            "user-agent": "TwilioProxy/1.1",
            "x-twilio-signature": self._validator.compute_signature(url, dict(fields)),
        }
        body = urlencode(fields).encode()
        return self._send(Request("POST", target.path, target.query, headers, body))

    def _media_path(self, sid: str) -> str:
        return f"/{API_VERSION}/Accounts/{self._account_sid}/Messages/{sid}/Media"

    def text(
        self,
        *,
        sender: str,
        recipient: str,
        body: str,
        sid: str | None = None,
        button: str | None = None,
        media: Sequence[tuple[str, str]] = (),
    ) -> tuple[str, Response]:
        """Send an inbound SMS or WhatsApp message to a line's webhook.

        Args:
            sender: The phone number of the sender; for WhatsApp, after `whatsapp:`.
            recipient: The phone number of the line, in the same form as `sender`.
            body: The text of the SMS.
            button: The id of the quick reply that was tapped; None for a typed message.
            media: The files: pairs of id and media type.
            sid: The id of the SMS. Give an id to send the same SMS twice; None makes a new id.

        Returns:
            The id of the SMS and the stack's response.
        """
        sid = sid or f"{'MM' if media else 'SM'}{secrets.token_hex(16)}"
        fields = {
            "ToCountry": "US",
            "ToState": "",
            "SmsMessageSid": sid,
            "NumMedia": str(len(media)),
            "ToCity": "",
            "FromZip": "",
            "SmsSid": sid,
            "FromState": "",
            "SmsStatus": "received",
            "FromCity": "",
            "Body": body,
            "FromCountry": "US",
            "To": recipient,
            "ToZip": "",
            "NumSegments": str(max(1, segment_count(body))),
            "MessageSid": sid,
            "AccountSid": self._account_sid,
            "From": sender,
            "ApiVersion": API_VERSION,
        }
        for n, (media_sid, kind) in enumerate(media):
            fields[f"MediaUrl{n}"] = f"{self._base_url}{PREFIX}{self._media_path(sid)}/{media_sid}"
            fields[f"MediaContentType{n}"] = kind
        if sender.startswith(WHATSAPP):
            fields = _on_whatsapp(fields, button)
        return sid, self.post(f"{self._base_url}{SMS_PATH}", fields)


def _on_whatsapp(fields: Mapping[str, str], button: str | None) -> dict[str, str]:
    """Return the fields of a WhatsApp message. Unlike an SMS, it has no fields about places."""
    kept = {name: value for name, value in fields.items() if not name.startswith(("To", "From"))}
    number = fields["From"].removeprefix(f"{WHATSAPP}+")
    kind = "button" if button is not None else _kind(fields)
    tapped = {"ButtonText": fields["Body"], "ButtonPayload": button} if button is not None else {}
    return {
        **kept,
        "From": fields["From"],
        "To": fields["To"],
        "WaId": number,
        "ProfileName": f"Phone {number[-4:]}",
        "MessageType": kind,
        "NumSegments": "1",
        **tapped,
    }


def _kind(fields: Mapping[str, str]) -> str:
    """Return WhatsApp's name for the type of a message: text, image or document."""
    if "MediaContentType0" not in fields:
        return "text"
    return "image" if fields["MediaContentType0"].startswith("image/") else "document"
