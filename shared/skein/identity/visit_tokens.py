"""Tokens of visits, and renewals, with which a page gets new tokens. Skein stores neither."""

import base64
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from skein.errors import NotFound, Unauthenticated
from skein.identity.models.credential import Credential
from skein.identity.models.visit import VisitClaims
from skein.ports import Secrets
from skein.services.config.services_key import services_key
from skein.settings import Settings

FORGED = "the token of the visit is invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitTokens:
    """The service that signs and checks tokens and renewals; the visitor's page stores both."""

    secrets: Callable[[], Secrets]
    settings: Settings

    def sign(self, kind: Literal["visit", "renewal"], claims: VisitClaims) -> str:
        """Return the text of a visit's token or renewal. The same claims give the same text."""
        tenant, *ids, number, consent, ends_at = claims
        numbers = map(str, (number, consent, int(ends_at.timestamp())))
        unsigned = Credential(kind, tenant, (*map(str, ids), *numbers), "")
        return unsigned._replace(secret=self._signature(unsigned)).text

    def read(self, credential: Credential) -> VisitClaims:
        """Return the claims of a token or a renewal, after checking its signature.

        Raises:
            Unauthenticated: The signature is not Skein's.
        """
        try:
            signature = self._signature(credential)
        except NotFound:  # no deployment signs without web chat
            raise Unauthenticated(FORGED) from None
        if not hmac.compare_digest(signature, credential.secret):
            raise Unauthenticated(FORGED)
        widget_id, visitor_id, chat_id, *numbers = credential.ids
        number, consent, seconds = map(int, numbers)
        ends_at = datetime.fromtimestamp(seconds, UTC)
        who = (credential.tenant, widget_id, visitor_id, chat_id)
        return VisitClaims(*who, number, consent, ends_at)

    def keyed(self, purpose: str, text: str) -> bytes:
        """Return an HMAC-SHA256 with a key for this purpose, derived from the stack's secret.

        Raises:
            NotFound: The deployment has no secret.
        """
        secret = services_key(self.secrets(), self.settings).encode()
        key = hmac.digest(secret, f"visits:{purpose}".encode(), "sha256")
        return hmac.digest(key, text.encode(), "sha256")

    def _signature(self, credential: Credential) -> str:
        made = self.keyed(credential.kind, credential.address.decode())
        return base64.urlsafe_b64encode(made).decode().rstrip("=")
