"""Consents of people to get texts from agents to whom they have not written.

A consent belongs to a person's number, and does not apply to a later owner of the number. The
keywords START and STOP change the consent in the transaction that stores their SMS
(`inbound/sms.py`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from skein.channels.registry import channel_named
from skein.errors import NotFound, Unprocessable
from skein.models.common.address import Address, phone_address
from skein.models.directory.address_index import AddressOwner, ChannelConsents, TextConsent
from skein.models.directory.user import User
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import read_items


@dataclass(frozen=True, slots=True, kw_only=True)
class TextConsents:
    """The service that keeps people's consents to get texts on their numbers, by channel."""

    table: Table
    clock: Clock

    def of_number(self, tenant: str, user_id: str, phone: str) -> ChannelConsents:
        """Return the consents on a person's number.

        Raises:
            NotFound: The number is not the person's.
        """
        return self._owner(tenant, user_id, phone).consents

    def of_user(self, user: User) -> dict[Address, ChannelConsents]:
        """Return the consents of a person by number, for all numbers that have consents."""
        keys = {AddressOwner.key_of(user.tenant, each): each for each in user.addresses}
        found = self.table.get_many(list(keys)) if keys else {}
        owners = {keys[owner.key]: owner for owner in AddressOwner.read_each(found)}
        return {
            address: owners[address].consents
            for address in user.addresses
            if address in owners and owners[address].user_id == user.id and owners[address].consents
        }

    def consenting(self, tenant: str, users: Iterable[User]) -> set[str]:
        """Return the ids of the users who have consented to texts on at least one number."""
        keys = [AddressOwner.key_of(tenant, each) for user in users for each in user.addresses]
        owners = AddressOwner.read_each(read_items(self.table, keys))
        return {each.user_id for each in owners if each.consents and not each.reassigned}

    def give(
        self, tenant: str, user_id: str, phone: str, channel: str, consent: TextConsent
    ) -> ChannelConsents:
        """Record a consent, which replaces an earlier consent on the channel.

        Raises:
            NotFound: The number is not the person's.
            Unprocessable: The number cannot be reached on the channel.
        """
        kind = channel_named(channel).kind
        if kind is None or kind.name != phone_address(phone).kind:
            raise Unprocessable("the number can't be reached on this channel")
        return self._change(
            tenant, user_id, phone, lambda owner: owner.with_consent(channel, consent)
        )

    def revoke(self, tenant: str, user_id: str, phone: str, channel: str) -> ChannelConsents:
        """Revoke a consent (idempotent).

        Raises:
            NotFound: The number is not the person's.
        """
        return self._change(tenant, user_id, phone, lambda owner: owner.without_consent(channel))

    def _change(
        self,
        tenant: str,
        user_id: str,
        phone: str,
        change: Callable[[AddressOwner], ChannelConsents],
    ) -> ChannelConsents:
        def attempt() -> ChannelConsents:
            owner = self._owner(tenant, user_id, phone)
            consents = change(owner)
            if consents != owner.consents:
                self.table.write(owner.consenting(consents))
            return consents

        return optimistic(self.clock, attempt, finds_own_write=True)

    def _owner(self, tenant: str, user_id: str, phone: str) -> AddressOwner:
        owner = AddressOwner.read(self.table, AddressOwner.key_of(tenant, phone_address(phone)))
        if owner is None or owner.user_id != user_id or owner.reassigned:
            raise NotFound("phone number not found")
        return owner
