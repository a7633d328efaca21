"""Index of addresses: the person and the direct chats to which an address leads."""

from datetime import date
from typing import Annotated, ClassVar

from pydantic import Field

from skein.models.common.address import Address
from skein.models.common.base import Identifier, Stored, Tenant, key_part
from skein.models.common.storage import META, Item, Key, SortKeyPrefix


def address_partition(tenant: str, address: Address) -> str:
    """Return the partition key of a person's address in a tenant."""
    return f"{key_part(tenant)}#ADDRESS#{address}"


class AddressOwner(Stored):
    """The user to whom an address belongs.

    Attributes:
        heard_on: The day (UTC) of the user's newest SMS from the address, or of the link if there
            was none since; None if unknown.
    """

    tenant: Tenant
    address: Address
    user_id: Identifier
    heard_on: Annotated[date | None, Field(exclude_if=lambda day: day is None)] = None

    def has_lapsed(self, today: date, days: int) -> bool:
        """Tell whether the user was silent for so many days that the address is a new person's.

        Args:
            days: The days of silence; 0 if an address never lapses.
        """
        return days > 0 and self.heard_on is not None and (today - self.heard_on).days >= days

    @staticmethod
    def key_of(tenant: str, address: Address) -> Key:
        """Return the key of an address's owner."""
        return Key(address_partition(tenant, address), META)

    @property
    def key(self) -> Key:
        """The key of this owner."""
        return self.key_of(self.tenant, self.address)

    def to_item(self) -> Item:
        """Return the owner as table attributes."""
        return self.attributes()


class AddressChat(Stored):
    """The only direct chat between a person's address and a line's agent."""

    PREFIX: ClassVar = SortKeyPrefix("LINE#")

    tenant: Tenant
    address: Address
    line: Address
    agent_id: Identifier
    chat_id: Identifier

    @staticmethod
    def key_of(tenant: str, address: Address, line: Address) -> Key:
        """Return the key of the chat between a person's address and a line."""
        return Key(address_partition(tenant, address), f"{AddressChat.PREFIX}{line}")

    @property
    def key(self) -> Key:
        """The key of this reference."""
        return self.key_of(self.tenant, self.address, self.line)

    def to_item(self) -> Item:
        """Return the reference as table attributes."""
        return self.attributes()


def caller_name(address: Address) -> str:
    """Return a caller's name: "Caller" and the last four characters of the address."""
    return f"Caller {address.address[-4:]}"
