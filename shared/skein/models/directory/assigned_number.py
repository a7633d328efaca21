"""Assigned numbers: which tenant may use a phone number of the deployment as a line."""

from skein.models.common.address import Address
from skein.models.common.base import Instant, Stored, Tenant
from skein.models.common.storage import Item, Key

NUMBERS = "NUMBERS"


class AssignedNumber(Stored):
    """A phone number of the deployment and its tenant, in a table that no function may write."""

    tenant: Tenant
    address: Address
    assigned_at: Instant

    @staticmethod
    def key_of(address: Address) -> "Key[AssignedNumber]":
        """Return the key of a number; all numbers are in one partition."""
        return Key(NUMBERS, str(address))

    @property
    def key(self) -> "Key[AssignedNumber]":
        return self.key_of(self.address)

    def to_item(self) -> Item:
        return self.attributes()
