"""Admission: each request checks whether the caller's token or key is still valid."""

from dataclasses import dataclass
from datetime import datetime

from skein.errors import Unauthenticated
from skein.identity.models.api_key import ApiKey
from skein.identity.models.user_token import UserToken
from skein.models.directory.user import User
from skein.ports import Clock, Table
from skein.services.directory.sign_outs import SignOuts

EXPIRED = "the token has expired"
REVOKED = "the API key was revoked or has expired"
ENDED = "the token no longer holds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The service that checks for each request whether a token or key was revoked or expired."""

    table: Table
    clock: Clock
    sign_outs: SignOuts

    def of_issuer(
        self,
        tenant: str,
        user_id: str,
        *,
        issued_at: datetime | None,
        ends_at: datetime | None,
    ) -> None:
        """Check a token of an issuer.

        Args:
            issued_at: When the token was issued; None if the claim is missing.
            ends_at: When the token expires; None if the claim is missing.

        Raises:
            Unauthenticated: The token has expired, or its person has been signed out since.
        """
        if ends_at is not None and ends_at <= self.clock.now():
            raise Unauthenticated(EXPIRED)
        self.sign_outs.check(tenant, user_id, issued_at=issued_at)

    def of_key(self, tenant: str, key_id: str) -> None:
        """Check an API key.

        Raises:
            Unauthenticated: The key was revoked or has expired.
        """
        api_key = ApiKey.read(self.table, ApiKey.key_of(tenant, key_id))
        if api_key is None or self._ended(api_key.ends_at):
            raise Unauthenticated(REVOKED)

    def of_token(self, tenant: str, user_id: str, *, token_id: str, key_id: str) -> None:
        """Check a token that Skein issued.

        Raises:
            Unauthenticated: The token has expired, its person has been signed out or erased, or
                the key that created it was revoked or has expired.
        """
        user_key = User.key_of(tenant, user_id)
        token_key = UserToken.key_of(tenant, user_id, token_id)
        maker_key = ApiKey.key_of(tenant, key_id)
        found = self.table.get_many([user_key, token_key, maker_key])
        if len(found) < 3:  # noqa: PLR2004 - all of them
            raise Unauthenticated(ENDED)
        token, user = UserToken.must_read(found, token_key), User.must_read(found, user_key)
        if self._ended(token.ends_at):
            raise Unauthenticated(EXPIRED)
        if self._ended(ApiKey.must_read(found, maker_key).ends_at) or user.erasure_id is not None:
            raise Unauthenticated(ENDED)
        self.sign_outs.check_user(user, issued_at=token.created_at)

    def _ended(self, at: datetime | None) -> bool:
        return at is not None and at <= self.clock.now()
