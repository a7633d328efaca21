"""Whether a webhook really comes from Twilio, by Twilio's own check of its signature.

Nothing here imports `twilio.rest`, which the webhooks must not pay for.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence

from twilio.request_validator import RequestValidator

from skein.errors import MissingSecret
from skein.ports import Secrets
from skein.settings import Settings

logger = logging.getLogger(__name__)


class _Fields(defaultdict[str, list[str]]):
    """Form fields as Twilio's validator takes them where a name may come more than once."""

    def getall(self, name: str) -> list[str]:
        """Every value of one name, as it was sent."""
        return self[name]


class TwilioSignature:
    """`WebhookVerifier` with the account's auth token.

    See https://www.twilio.com/docs/usage/webhooks/webhooks-security.

    Args:
        secrets: Where the token is kept.
        settings: For the secret's name.
    """

    def __init__(self, secrets: Secrets, settings: Settings) -> None:
        self._secrets = secrets
        self._secret_name = settings.twilio_secret

    def verify(self, *, url: str, parameters: Sequence[tuple[str, str]], signature: str) -> bool:
        """See `skein.ports.WebhookVerifier`; without an auth token nothing is genuine.

        Raises:
            Unavailable: The token could not be read now.
        """
        token = self._token()
        if not token or not signature:
            return False
        fields = _Fields(list)
        for name, value in parameters:
            fields[name].append(value)
        return bool(RequestValidator(token).validate(url, fields, signature))

    def _token(self) -> str:
        try:
            return self._secrets.get(self._secret_name).get("auth_token", "").strip()
        except MissingSecret:
            logger.exception("no webhook can be verified")
            return ""
