"""Tokens issued by Skein, which a server creates for the people of its app."""

from typing import Annotated, ClassVar

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.user import User


class UserToken(Stored):
    """A token of one person, without its secret; it is stored with the person until it expires.

    Attributes:
        key_id: The API key with which the token was created. If the key is revoked, the token is
            rejected, too.
        hash: The hash of the secret.
    """

    PREFIX: ClassVar = SortKeyPrefix("TOKEN#")

    tenant: Tenant
    user_id: Identifier
    id: Identifier
    key_id: Identifier
    hash: Annotated[str, Field(repr=False)]
    created_at: Instant
    ends_at: Instant

    @staticmethod
    def key_of(tenant: str, user_id: str, token_id: str) -> "Key[UserToken]":
        return Key(User.key_of(tenant, user_id).pk, f"{UserToken.PREFIX}{key_part(token_id)}")

    @property
    def key(self) -> "Key[UserToken]":
        return self.key_of(self.tenant, self.user_id, self.id)

    def to_item(self) -> Item:
        """Return the token as table attributes; the item expires with the token."""
        return self.attributes() | {"expires_at": int(self.ends_at.timestamp())}
