"""Number codes: a person proves a phone number with a code that was sent to it by SMS."""

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import ClassVar

from skein.models.common.address import Address
from skein.models.common.base import Identifier, Instant, Stored, Tenant
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.user import User

CODE_DIGITS = 6
VALID_FOR = timedelta(minutes=10)
HASH_COST = 2**14  # of scrypt: 16 MB and about 50 ms for each try
MAX_TRIES = 5


class NumberCode(Stored):
    """A code that links a phone number to one user.

    Attributes:
        id: The id of the request, which is also the salt of the hash.
        line: The line from which the code is sent.
        code_hash: The hash of the newest code that was sent; None before the first code.
        sent_at: When the provider accepted the SMS; None before that.
        tries: How often a code was entered, right or wrong.
        valid_until: When the code expires.
        expires_at: When the item may be deleted, in seconds since 1970.
    """

    PREFIX: ClassVar = SortKeyPrefix("NUMBERCODE#")

    tenant: Tenant
    user_id: Identifier
    address: Address
    id: Identifier
    line: Address
    code_hash: str | None = None
    sent_at: Instant | None = None
    tries: int = 0
    valid_until: Instant
    expires_at: int

    @staticmethod
    def key_of(tenant: str, user_id: str, address: Address) -> "Key[NumberCode]":
        return Key(User.key_of(tenant, user_id).pk, f"{NumberCode.PREFIX}{address}")

    @property
    def key(self) -> "Key[NumberCode]":
        return self.key_of(self.tenant, self.user_id, self.address)

    def to_item(self) -> Item:
        return self.attributes()

    def open_at(self, now: datetime) -> bool:
        """Return whether the code was sent and can still be entered."""
        return self.code_hash is not None and self.tries < MAX_TRIES and now < self.valid_until

    def hash_of(self, code: str) -> str:
        """Return the hash of a code; hashing is slow, which prevents trying all codes in time."""
        salt = self.id.encode()
        return hashlib.scrypt(code.encode(), salt=salt, n=HASH_COST, r=8, p=1).hex()

    def matches(self, code: str) -> bool:
        return hmac.compare_digest(self.hash_of(code), self.code_hash or "")
