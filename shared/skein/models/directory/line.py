"""Lines: the addresses on which people reach agents."""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from skein.models.common.address import Address, ChannelName
from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part
from skein.models.common.storage import META, Item, Key
from skein.models.config.overrides import NO_OVERRIDES, Overrides

RESERVED_DAYS = 30


def _distinct(channels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(channels))


class LineFields(BaseModel):
    """The fields of a line that operators set."""

    channels: Annotated[
        tuple[ChannelName, ...],
        Field(
            description="The channels on which people reach the agent at this number.",
            min_length=1,
            max_length=10,
        ),
        AfterValidator(_distinct),
    ] = ("sms",)


class Line(LineFields, Stored):
    """An address that belongs to one agent; the address alone identifies the tenant.

    Attributes:
        settings: The line's overrides of settings of its tenant or the deployment.
    """

    tenant: Tenant
    address: Address
    agent_id: Identifier
    settings: Overrides = NO_OVERRIDES
    version: int = 1
    created_at: Instant

    @staticmethod
    def key_of(address: Address) -> "Key[Line]":
        """Return the key of a line; it has no tenant, since a webhook knows only the address."""
        return Key(f"LINE#{address}", META)

    @property
    def key(self) -> "Key[Line]":
        return self.key_of(self.address)

    @property
    def phone(self) -> str:
        """The phone number of the line, which the API shows."""
        return self.address.address

    def to_item(self) -> Item:
        """Return the line's table attributes, with the index keys of the tenant's list of lines."""
        index = {"gsi1pk": lines_relation(self.tenant), "gsi1sk": str(self.address)}
        return self.attributes() | index


class ReservedNumber(Stored):
    """A number whose line was deleted; until `expires_at`, only the same tenant gets the number."""

    tenant: Tenant
    address: Address
    expires_at: int

    @classmethod
    def of(cls, line: Line, now: datetime) -> "ReservedNumber":
        """Return the reservation for a line's number, while the line is being deleted."""
        end = now + timedelta(days=RESERVED_DAYS)
        return cls(tenant=line.tenant, address=line.address, expires_at=int(end.timestamp()))

    @staticmethod
    def key_of(address: Address) -> "Key[ReservedNumber]":
        """Return the key of a number's reservation, in the partition of its line."""
        return Key(Line.key_of(address).pk, "RESERVED")

    @property
    def key(self) -> "Key[ReservedNumber]":
        return self.key_of(self.address)

    def to_item(self) -> Item:
        return self.attributes()


def lines_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's lines."""
    return f"{key_part(tenant)}#LINES"
