"""Phone numbers of erased people who had opted out of texts, stored as keyed hashes."""

import hashlib
import hmac
from typing import ClassVar

from skein.models.common.address import Address
from skein.models.common.base import Instant, Stored, Tenant, key_part
from skein.models.common.storage import META, Key, SortKeyPrefix


class OptOutKey(Stored):
    """The tenant's key for hashing numbers; without the key, a number cannot be looked up.

    Attributes:
        secret: The key, in hexadecimal digits.
    """

    tenant: Tenant
    secret: str

    @staticmethod
    def key_of(tenant: str) -> "Key[OptOutKey]":
        return Key(f"{key_part(tenant)}#OPTOUTS", META)

    @property
    def key(self) -> "Key[OptOutKey]":
        return self.key_of(self.tenant)

    def number(self, address: Address, channel: str, at: Instant) -> "OptedOutNumber":
        hashed = hmac.digest(bytes.fromhex(self.secret), str(address).encode(), hashlib.sha256)
        return OptedOutNumber(tenant=self.tenant, hash=hashed.hex(), channel=channel, at=at)


class OptedOutNumber(Stored):
    """A number on which an erased person had opted out of a channel.

    Attributes:
        hash: The keyed hash of the number.
        at: When the person opted out.
    """

    PREFIX: ClassVar = SortKeyPrefix("NUMBER#")

    tenant: Tenant
    hash: str
    channel: str
    at: Instant

    @staticmethod
    def key_of(tenant: str, channel: str, hashed: str) -> "Key[OptedOutNumber]":
        pk = OptOutKey.key_of(tenant).pk
        return Key(pk, f"{OptedOutNumber.PREFIX}{key_part(channel)}#{hashed}")

    @property
    def key(self) -> "Key[OptedOutNumber]":
        return self.key_of(self.tenant, self.channel, self.hash)
