"""Index of addresses: the person and the direct chats to which an address leads."""

import re
from datetime import date
from typing import Annotated, ClassVar

from pydantic import Field

from skein.models.common.address import Address, ChannelName
from skein.models.common.base import Identifier, Stored, Tenant, key_part
from skein.models.common.storage import (
    META,
    Check,
    Is,
    Item,
    Key,
    SortKeyPrefix,
    Update,
    Write,
    all_of,
)

CALLER = "Caller"


def address_partition(tenant: str, address: Address) -> str:
    """Return the partition key of a person's address in a tenant."""
    return f"{key_part(tenant)}#ADDRESS#{address}"


class AddressOwner(Stored):
    """The user to whom an address belongs.

    Attributes:
        heard_on: The day (UTC) of the user's newest message from the address, or of the link if
            there was none since; None if unknown.
        heard_by: The day of the newest message on each channel, since the link. A lost number may
            still have its former owner's WhatsApp, so silence is counted for each channel.
        unproven: The days of silence before the SMS that made the number unproven; None if nobody
            has to say whose number this is.
        reassigned: Whether the user has said that the number is another person's now.
    """

    tenant: Tenant
    address: Address
    user_id: Identifier
    heard_on: Annotated[date | None, Field(exclude_if=lambda day: day is None)] = None
    heard_by: Annotated[dict[ChannelName, date], Field(exclude_if=lambda days: not days)] = Field(
        default_factory=dict
    )
    unproven: Annotated[int | None, Field(exclude_if=lambda days: days is None)] = None
    reassigned: Annotated[bool, Field(exclude_if=lambda value: not value)] = False

    def last_heard(self, channel: str | None = None) -> date | None:
        """Return the day of the newest message on a channel; on any one if it is new or None."""
        return self.heard_by.get(channel or "", self.heard_on)

    def was_silent(self, today: date, days: int, channel: str | None = None) -> bool:
        """Tell whether no message came on a channel for so many days; 0 for never."""
        return 0 < days <= self._silence(today, channel)

    def has_lapsed(self, today: date, days: int, channel: str | None = None) -> bool:
        """Tell whether the address is a new person's: reported, or after so many silent days.

        Args:
            today: The day (UTC).
            days: The days of silence; 0 if an address does not lapse by silence.
            channel: The channel whose silence counts; None for that of all.
        """
        return self.reassigned or self.was_silent(today, days, channel)

    def unproven_on(self, today: date, days: int, channel: str) -> int | None:
        """Return the days of silence that make the address unproven; None if it is proven.

        Args:
            today: The day (UTC).
            days: The days of silence after which a message makes it unproven; 0 for never.
            channel: The channel of the message.
        """
        if days == 0:
            return None
        silence = self._silence(today, channel)
        return self.unproven or (silence if silence >= days else None)

    def is_proven_on(self, today: date) -> bool:
        """Tell whether the address was proven or heard today, and nobody doubts the owner."""
        return self.heard_on == today and self.unproven is None and not self.reassigned

    def heard(self, today: date, unproven: int | None, channel: str) -> Write:
        """Return the write of a message, on condition that nobody changed the owner since.

        Only the first message of a day on a channel changes the item.

        Args:
            today: The day (UTC).
            unproven: The days of silence that make the address unproven.
            channel: The channel of the message.
        """
        same = all_of(
            Is("user_id", self.user_id), Is("unproven", self.unproven), Is("reassigned", None)
        )
        if self.heard_by.get(channel) == today:
            return Check(self.key, same)
        days = {name: day.isoformat() for name, day in self.heard_by.items()}
        change = {
            "heard_on": today.isoformat(),
            "heard_by": days | {channel: today.isoformat()},
            "unproven": unproven or self.unproven,
        }
        return Update(self.key, set=change, condition=same)

    def proven(self, today: date, *, user_id: str | None = None) -> Update:
        """Return the write by which the address is proven to be the owner's, or another user's.

        Args:
            user_id: The user who gets the address; None for the owner.
        """
        change = {
            "user_id": user_id or self.user_id,
            "heard_on": today.isoformat(),
            "heard_by": None,
            "unproven": None,
            "reassigned": None,
        }
        return Update(self.key, set=change, condition=Is("user_id", self.user_id))

    def lost(self) -> Update:
        """Return the write by which the address is a new person's with the next SMS."""
        change = {"unproven": None, "reassigned": True}
        return Update(self.key, set=change, condition=Is("user_id", self.user_id))

    def _silence(self, today: date, channel: str | None) -> int:
        heard_on = self.last_heard(channel)
        return (today - heard_on).days if heard_on is not None else 0

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
    return f"{CALLER} {address.address[-4:]}"


def is_caller_name(name: str) -> bool:
    """Tell whether a name is that of a person who is known by a phone number alone."""
    return re.fullmatch(rf"{CALLER} .{{1,4}}", name) is not None
