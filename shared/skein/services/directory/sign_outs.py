"""Sign-outs: refuse tokens that were issued before the person was signed out."""

from dataclasses import dataclass
from datetime import datetime

from skein.errors import NotFound, Unauthenticated
from skein.models.common.base import rfc3339
from skein.models.common.storage import Exists, Is, Update, all_of
from skein.models.directory.user import User
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic

SIGNED_OUT = "the person was signed out after this token was issued"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOuts:
    """The service with which operators sign people out."""

    table: Table
    clock: Clock

    def sign_out(self, tenant: str, user_id: str) -> None:
        """Refuse all tokens and tickets that were issued to the person before now.

        Raises:
            NotFound: The person does not exist or is being erased.
        """
        optimistic(self.clock, lambda: self._sign_out_once(tenant, user_id))

    def _sign_out_once(self, tenant: str, user_id: str) -> None:
        user = User.read(self.table, User.key_of(tenant, user_id))
        if user is None or user.erasure_id is not None:
            raise NotFound("user not found")
        self.table.write(
            Update(
                user.key,
                set={"signed_out_at": rfc3339(self.clock.now())},
                add={"version": 1},
                condition=all_of(Exists(), Is("version", user.version)),
            )
        )

    def check(self, tenant: str, user_id: str, *, issued_at: datetime | None) -> None:
        """Refuse a token that was issued before the person was signed out.

        Args:
            issued_at: When the token was issued; None if the token does not contain the time.
                Without the time, the token is refused if the person was ever signed out.

        Raises:
            Unauthenticated: The person has been signed out since.
        """
        user = User.read(self.table, User.key_of(tenant, user_id))
        if user is not None:
            self.check_user(user, issued_at=issued_at)

    def check_user(self, user: User, *, issued_at: datetime | None) -> None:
        """Refuse a token that was issued before `user` was signed out; see `check`."""
        signed_out_at = user.signed_out_at
        if signed_out_at is not None and (issued_at is None or issued_at < signed_out_at):
            raise Unauthenticated(SIGNED_OUT)
