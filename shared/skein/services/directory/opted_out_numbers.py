"""Phone numbers of erased people who had opted out of texts.

An erasure deletes a person's memberships and the opt-outs in them. Skein keeps a keyed hash of each
opted-out number, so that agents do not write first to the number if an operator enters it again.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from skein.channels.registry import channel_named
from skein.errors import ConditionFailed
from skein.models.chats.membership import Membership
from skein.models.common.address import Address
from skein.models.common.storage import Missing, Put, Write
from skein.models.directory.opted_out_number import OptOutKey
from skein.ports import Clock, Table

KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class OptedOutNumbers:
    """The service that remembers opted-out numbers of erased people."""

    table: Table
    clock: Clock

    def remembered(self, membership: Membership, addresses: Iterable[Address]) -> list[Write]:
        """Return the writes that keep a membership's opt-outs after the membership is erased.

        Args:
            addresses: The person's addresses.
        """
        if not membership.opt_outs:
            return []
        key = self._key(membership.tenant)
        numbers = {
            item.key: item
            for address in addresses
            for channel, at in membership.opt_outs.items()
            if (kind := channel_named(channel).kind) is not None and kind.name == address.kind
            for item in (key.number(address, channel, at),)
        }
        return [Put(number.key, number.attributes()) for number in numbers.values()]

    def has(self, tenant: str, address: Address, channel: str) -> bool:
        """Return whether an erased person had opted out of a channel on this number."""
        opt_out_key = OptOutKey.read(self.table, OptOutKey.key_of(tenant))
        if opt_out_key is None:
            return False
        number = opt_out_key.number(address, channel, self.clock.now())
        return self.table.get(number.key) is not None

    def _key(self, tenant: str) -> OptOutKey:
        """Return the tenant's key for the hashes; the first call creates the key."""
        new = OptOutKey(tenant=tenant, secret=secrets.token_hex(KEY_BYTES))
        known = OptOutKey.read(self.table, new.key)
        if known is None:
            try:
                self.table.write(Put(new.key, new.attributes(), Missing()))
            except ConditionFailed:
                known = OptOutKey.read(self.table, new.key)
        return known or new
