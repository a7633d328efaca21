"""API keys of servers, which operators make."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from skein.models.common.base import Identifier, Instant, NamedModel, Stored, Tenant, key_part
from skein.models.common.storage import Item, Key, SortKeyPrefix

KeyRole = Literal["support", "privacy", "owner", "tokens"]

MAX_KEYS = 100  # of a tenant


class ApiKeyFields(NamedModel):
    """The fields of an API key that operators set."""

    roles: Annotated[
        tuple[KeyRole, ...],
        Field(
            min_length=1,
            max_length=4,
            description="The roles of operators, and `tokens`, which makes tokens for people.",
        ),
    ]


class KeyEndFields(BaseModel):
    """When an API key expires."""

    expires_at: Annotated[
        Instant | None, Field(description="When the key expires; null for never.")
    ] = None


class ApiKey(ApiKeyFields, Stored):
    """An API key, without its secret.

    Attributes:
        hash: The hash of the secret.
        created_by: The operator who made the key.
        ends_at: When the key expires; None for never. The attribute is not called `expires_at`,
            because the table deletes items whose `expires_at` has passed.
        text: The key itself, to be shown once, if it was just created; it is never stored.
    """

    PREFIX: ClassVar = SortKeyPrefix("KEY#")

    tenant: Tenant
    id: Identifier
    hash: Annotated[str, Field(repr=False)]
    created_by: Identifier
    created_at: Instant
    ends_at: Instant | None = None
    text: Annotated[str, Field(exclude=True, repr=False)] = ""

    @staticmethod
    def key_of(tenant: str, key_id: str) -> "Key[ApiKey]":
        return Key(keys_partition(tenant), f"{ApiKey.PREFIX}{key_part(key_id)}")

    @property
    def key(self) -> "Key[ApiKey]":
        return self.key_of(self.tenant, self.id)

    @property
    def expires_at(self) -> datetime | None:
        """When the API key expires, under the name that the API uses."""
        return self.ends_at

    def to_item(self) -> Item:
        return self.attributes()


def keys_partition(tenant: str) -> str:
    """Return the key of the partition of a tenant's API keys."""
    return f"{key_part(tenant)}#KEYS"
