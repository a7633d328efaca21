"""Tokens that a server creates for the people of its app."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.errors import ConditionFailed, NotFound
from skein.identity.models.credential import Credential
from skein.identity.models.user_token import UserToken
from skein.models.common.storage import Exists, Missing, Put, Update
from skein.models.directory.user import User
from skein.ports import Clock, Ids, Table


class MadeToken(NamedTuple):
    """A token for a person, to be shown once."""

    token: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTokens:
    """The service that creates tokens for people."""

    table: Table
    clock: Clock
    ids: Ids

    def create(self, tenant: str, user_id: str, *, key_id: str, seconds: int) -> MadeToken:
        """Create a token with which a person uses the API for some time.

        Args:
            key_id: The API key that creates the token.
            seconds: How long the token is valid.

        Raises:
            NotFound: The person does not exist or is being erased.
        """
        user = User.read(self.table, User.key_of(tenant, user_id))
        if user is None or user.erasure_id is not None:
            raise NotFound("user not found")
        now, token_id = self.clock.now(), f"tok_{self.ids.ulid()}"
        credential = Credential.new("token", tenant, user_id, token_id)
        token = UserToken(
            tenant=tenant,
            user_id=user_id,
            id=token_id,
            key_id=key_id,
            hash=credential.hash,
            created_at=now,
            ends_at=now + timedelta(seconds=seconds),
        )
        self.table.write(Put(token.key, token.to_item(), Missing()))
        return MadeToken(credential.text, token.ends_at)

    def rotate(self, tenant: str, user_id: str, token_id: str) -> MadeToken:
        """Give a token a new secret. The old secret is invalid at once; the expiry stays the same.

        Raises:
            NotFound: There is no such token any more.
        """
        credential = Credential.new("token", tenant, user_id, token_id)
        token = UserToken.read(self.table, UserToken.key_of(tenant, user_id, token_id))
        if token is None:
            raise NotFound("token not found")
        try:
            self.table.write(Update(token.key, set={"hash": credential.hash}, condition=Exists()))
        except ConditionFailed as failure:
            raise NotFound("token not found") from failure
        return MadeToken(credential.text, token.ends_at)
