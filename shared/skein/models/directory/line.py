"""Lines: the addresses on which people reach agents."""

from skein.models.common.address import Address
from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part
from skein.models.common.storage import META, Item, Key
from skein.models.config.overrides import NO_OVERRIDES, Overrides


class Line(Stored):
    """An address that belongs to one agent; the address alone identifies the tenant.

    A phone number may be the line of several channels.

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
    def key_of(address: Address) -> Key:
        """Return the key of a line, without a tenant: a webhook knows only the address."""
        return Key(f"LINE#{address}", META)

    @property
    def key(self) -> Key:
        """The key of this line."""
        return self.key_of(self.address)

    @property
    def phone(self) -> str:
        """The phone number of the line, which the API shows."""
        return self.address.address

    def to_item(self) -> Item:
        """Return the line as table attributes, listed under its tenant."""
        index = {"gsi1pk": lines_relation(self.tenant), "gsi1sk": str(self.address)}
        return self.attributes() | index


def lines_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's lines."""
    return f"{key_part(tenant)}#LINES"
