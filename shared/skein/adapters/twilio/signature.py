"""Verify webhooks with the signature check of Twilio's library.

This module does not import `twilio.rest`, whose import would make webhooks slow.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence

from twilio.request_validator import RequestValidator

from skein.errors import MissingSecret
from skein.ports import Secrets
from skein.settings import Settings

TOKENS = ("auth_token", "auth_token_next")

logger = logging.getLogger(__name__)


class _Fields(defaultdict[str, list[str]]):
    """Form fields in the shape that Twilio's validator needs for repeated names."""

    def getall(self, name: str) -> list[str]:
        """Return all values of one name, in the order in which they were sent."""
        return self[name]


class TwilioSignature:
    """`WebhookVerifier` with the account's auth token, or the next token during a rotation.

    See https://www.twilio.com/docs/usage/webhooks/webhooks-security.

    Args:
        secrets: The secret store that holds the token.
        settings: The settings, which name the secret.
    """

    def __init__(self, secrets: Secrets, settings: Settings) -> None:
        self._secrets = secrets
        self._secret_name = settings.twilio_secret

    def verify(self, *, url: str, parameters: Sequence[tuple[str, str]], signature: str) -> bool:
        """See `skein.ports.WebhookVerifier`; without an auth token every webhook is refused.

        Raises:
            Unavailable: The auth token cannot be read at the moment.
        """
        tokens = self._tokens()
        if not tokens or not signature:
            return False
        fields = _Fields(list)
        for name, value in parameters:
            fields[name].append(value)
        return any(RequestValidator(each).validate(url, fields, signature) for each in tokens)

    def _tokens(self) -> list[str]:
        try:
            secret = self._secrets.get(self._secret_name)
        except MissingSecret:
            logger.exception("failed to read the secret for webhook signatures")
            return []
        return [token for name in TOKENS if (token := secret.get(name, "").strip())]
