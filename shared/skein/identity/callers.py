"""The callers of the API, as the gateway's authorizer identifies them by their bearer token."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from skein.errors import Unauthenticated
from skein.identity.models.api_key import ApiKey
from skein.identity.models.credential import CallerSource, Credential
from skein.identity.models.user_token import UserToken
from skein.identity.models.visit import TOKEN_LIFETIME
from skein.identity.visit_tokens import VisitTokens
from skein.ports import IdentityProvider, Table

SCHEMES = frozenset({"", "bearer"})
UNKNOWN = "the API key or token is unknown"


class Caller(NamedTuple):
    """A caller, as the authorizer passes it to the functions.

    Attributes:
        source: What the caller sent: an issuer's token, an API key, a token issued by Skein, or a
            visit's token.
        claims: The claims of the token, or the equivalent for a key, as texts.
    """

    source: CallerSource
    claims: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """The service that identifies callers by their tokens' signatures or secrets.

    The gateway caches each result for some minutes. So this service does not check anything that
    may change within minutes; `admission` checks expiry, sign-out and revocation for each request.
    """

    table: Table
    provider: Callable[[], IdentityProvider]
    visits: VisitTokens

    def identify(self, header: str) -> Caller:
        """Return the caller who sends an `Authorization` header.

        Raises:
            Unauthenticated: The header has no token, or the token is invalid or unknown.
            Unavailable: The keys of the issuer cannot be read.
        """
        scheme, _, text = header.strip().rpartition(" ")
        if scheme.strip().lower() not in SCHEMES:
            raise Unauthenticated("the header must have a bearer token")
        credential = Credential.parse(text)
        if credential is None:
            claims = self.provider().claims(text)
            return Caller("issuer", {name: _as_text(value) for name, value in claims.items()})
        if credential.kind == "visit":
            return self._of_visit(credential)
        if credential.kind == "renewal":
            raise Unauthenticated("a renewal is no token")
        return self._of_key(credential) if credential.kind == "key" else self._of_token(credential)

    def _of_visit(self, credential: Credential) -> Caller:
        visit = self.visits.read(credential)
        claims = {
            "sub": visit.visitor_id,
            "tenant": visit.tenant,
            "scope": "visit",
            "iat": str((visit.ends_at - TOKEN_LIFETIME).timestamp()),
            "exp": str(visit.ends_at.timestamp()),
            "widget_id": visit.widget_id,
            "chat_id": visit.chat_id,
            "number": str(visit.number),
            "consent": str(visit.consent),
        }
        return Caller("visit", claims)

    def _of_key(self, credential: Credential) -> Caller:
        key = ApiKey.read(self.table, ApiKey.key_of(credential.tenant, *credential.ids))
        if key is None or not credential.matches(key.hash):
            raise Unauthenticated(UNKNOWN)
        claims = {
            "sub": key.id,
            "tenant": key.tenant,
            "name": key.name,
            "scope": " ".join(key.roles),
            "iat": str(key.created_at.timestamp()),
        }
        return Caller("key", claims)

    def _of_token(self, credential: Credential) -> Caller:
        token = UserToken.read(self.table, UserToken.key_of(credential.tenant, *credential.ids))
        if token is None or not credential.matches(token.hash):
            raise Unauthenticated(UNKNOWN)
        claims = {
            "sub": token.user_id,
            "tenant": token.tenant,
            "scope": "chat",
            "iat": str(token.created_at.timestamp()),
            "exp": str(token.ends_at.timestamp()),
            "jti": token.id,
            "key_id": token.key_id,
        }
        return Caller("token", claims)


def _as_text(value: Any) -> str:
    """Convert a claim to text, in the same way as API Gateway's own authorizer."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{' '.join(_as_text(part) for part in value)}]"
    return str(value)
