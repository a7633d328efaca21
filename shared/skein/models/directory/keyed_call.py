"""Records of API calls with an idempotency key, each with the id of the item that was created."""

import hashlib
from datetime import datetime, timedelta
from typing import ClassVar, Self

from skein.models.common.base import Identifier, Stored, Tenant
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.user import User

KEPT = timedelta(hours=24)


class KeyedCall(Stored):
    """The record of an API call that created an item; the record never contains the response.

    Attributes:
        caller: The id of the person or API key that called.
        call: The SHA-256 of the method, the path and the key, in hex.
        digest: The SHA-256 of the query and the body, in hex.
        item_id: The id of the item that the call created; None until the item is stored.
        expires_at: 24 hours after the call, in seconds since 1970.
    """

    PREFIX: ClassVar = SortKeyPrefix("KEYED#")

    tenant: Tenant
    caller: Identifier
    call: str
    digest: str
    item_id: str | None = None
    expires_at: int

    @staticmethod
    def key_of(tenant: str, caller: str, call: str) -> "Key[KeyedCall]":
        return Key(User.key_of(tenant, caller).pk, f"{KeyedCall.PREFIX}{call}")

    @classmethod
    def of(
        cls, tenant: str, caller: str, *, key: str, route: str, request: str, now: datetime
    ) -> Self:
        """Build the record of the current call.

        Args:
            key: The caller's idempotency key.
            route: The method and the path.
            request: The query and the body.
        """
        return cls(
            tenant=tenant,
            caller=caller,
            call=_digest(f"{route} {key}"),
            digest=_digest(request),
            expires_at=int((now + KEPT).timestamp()),
        )

    @property
    def key(self) -> "Key[KeyedCall]":
        return self.key_of(self.tenant, self.caller, self.call)

    def to_item(self) -> Item:
        return self.attributes()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
