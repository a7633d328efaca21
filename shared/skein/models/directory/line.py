"""Lines: phone numbers on which people reach agents."""

from skein.models.common.base import E164, Identifier, Instant, Stored, Tenant, key_part
from skein.models.common.storage import META, Item, Key
from skein.models.config.overrides import NO_OVERRIDES, Overrides


class Line(Stored):
    """A phone number that belongs to one agent; the number alone identifies the tenant.

    Attributes:
        settings: The line's overrides of settings of its tenant or the deployment.
    """

    tenant: Tenant
    phone: E164
    agent_id: Identifier
    settings: Overrides = NO_OVERRIDES
    version: int = 1
    created_at: Instant

    @staticmethod
    def key_of(phone: str) -> Key:
        """Return the key of a line, without a tenant: a webhook knows only the number."""
        return Key(f"LINE#{key_part(phone)}", META)

    @property
    def key(self) -> Key:
        """The key of this line."""
        return self.key_of(self.phone)

    def to_item(self) -> Item:
        """Return the line as table attributes, listed under its tenant."""
        return self.attributes() | {"gsi1pk": lines_relation(self.tenant), "gsi1sk": self.phone}


def lines_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's lines."""
    return f"{key_part(tenant)}#LINES"
