"""Index of phone numbers: the person and the direct chats that a number leads to."""

from typing import ClassVar

from skein.models.common.base import E164, Identifier, Stored, Tenant, key_part
from skein.models.common.storage import META, Item, Key, SortKeyPrefix


def phone_partition(tenant: str, phone: str) -> str:
    """Return the partition key of a phone number in a tenant."""
    return f"{key_part(tenant)}#PHONE#{key_part(phone)}"


class PhoneOwner(Stored):
    """The user to whom a phone number belongs."""

    tenant: Tenant
    phone: E164
    user_id: Identifier

    @staticmethod
    def key_of(tenant: str, phone: str) -> Key:
        """Return the key of a number's owner."""
        return Key(phone_partition(tenant, phone), META)

    @property
    def key(self) -> Key:
        """The key of this owner."""
        return self.key_of(self.tenant, self.phone)

    def to_item(self) -> Item:
        """Return the owner as table attributes."""
        return self.attributes()


class PhoneChat(Stored):
    """The only direct chat between a phone number and a line's agent."""

    PREFIX: ClassVar = SortKeyPrefix("LINE#")

    tenant: Tenant
    phone: E164
    line: E164
    agent_id: Identifier
    chat_id: Identifier

    @staticmethod
    def key_of(tenant: str, phone: str, line: str) -> Key:
        """Return the key of the chat between a number and a line."""
        return Key(phone_partition(tenant, phone), f"{PhoneChat.PREFIX}{key_part(line)}")

    @property
    def key(self) -> Key:
        """The key of this reference."""
        return self.key_of(self.tenant, self.phone, self.line)

    def to_item(self) -> Item:
        """Return the reference as table attributes."""
        return self.attributes()


def caller_name(phone: str) -> str:
    """Return a caller's name: "Caller" and the last four digits of the number."""
    return f"Caller {phone[-4:]}"
