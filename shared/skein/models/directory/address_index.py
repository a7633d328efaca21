"""Index of addresses: the person and the direct chats of an address."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from skein.models.common.address import Address, ChannelName
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value, key_part
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

ConsentSource = Literal["operator", "start", "person"]


def address_partition(tenant: str, address: Address) -> str:
    return f"{key_part(tenant)}#ADDRESS#{address}"


class TextConsent(Value):
    """A person's consent to get texts from agents that the person has not written to.

    Attributes:
        how: How the consent was given: by an `operator`, with a proof; or by the person, with the
            keyword `start` or in the app.
        by: The operator or the person who gave the consent.
        proof: Where and how the person consented, in an operator's words.
    """

    at: Instant
    how: ConsentSource
    by: Identifier
    proof: Annotated[str | None, Field(exclude_if=lambda proof: proof is None)] = None


ChannelConsents = Mapping[str, TextConsent]
"""Consents to texts, by the name of the channel."""


class AddressOwner(Stored):
    """The user to whom an address belongs.

    Attributes:
        heard_on: The day (UTC) of the user's newest message from the address, or the day when the
            address was linked if there was no message since; None if unknown.
        heard_by: The day of the newest message on each channel since the address was linked. When a
            number changes hands, its WhatsApp may stay with the former owner, so silence is counted
            for each channel.
        unproven: The days of silence before the SMS that made the number unproven; None while the
            number is proven.
        reassigned: Whether the user has said that the number now belongs to another person.
        consents: The channels on which agents may write first, since the user has consented.
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
    consents: Annotated[
        dict[ChannelName, TextConsent], Field(exclude_if=lambda consents: not consents)
    ] = Field(default_factory=dict)

    def last_heard(self, channel: str | None = None) -> date | None:
        """Return the day of the newest message on a channel.

        If the channel is None or has no message yet, the newest message on any channel counts.
        """
        return self.heard_by.get(channel or "", self.heard_on)

    def was_silent(self, today: date, days: int, channel: str | None = None) -> bool:
        """Return whether a channel was silent for at least `days` days; False if `days` is 0."""
        return 0 < days <= self._silence(today, channel)

    def has_lapsed(self, today: date, days: int, channel: str | None = None) -> bool:
        """Return whether the next message from the address is treated as from a new person.

        The address lapses when its owner reports that it changed hands, or after a long silence.

        Args:
            today: The day (UTC).
            days: The days of silence; 0 if an address never lapses by silence.
            channel: The channel whose silence counts; None for all channels together.
        """
        return self.reassigned or self.was_silent(today, days, channel)

    def unproven_on(self, today: date, days: int, channel: str) -> int | None:
        """Return how many days the address was silent if it is unproven; None if it is proven.

        Args:
            today: The day (UTC).
            days: The days of silence after which a message makes the address unproven; 0 for never.
            channel: The channel of the message.
        """
        if days == 0:
            return None
        silence = self._silence(today, channel)
        return self.unproven or (silence if silence >= days else None)

    def is_proven_on(self, today: date) -> bool:
        """Return whether the address was proven or used today, and its owner is not in doubt."""
        return self.heard_on == today and self.unproven is None and not self.reassigned

    def heard(
        self,
        today: date,
        unproven: int | None,
        channel: str,
        *,
        consents: ChannelConsents | None = None,
    ) -> Write:
        """Return the write that records a message from the address.

        The write fails if the owner has changed since the read. Only the first message of a day on
        a channel changes the days in the item.

        Args:
            today: The day (UTC).
            unproven: The days of silence, if they make the address unproven; otherwise None.
            channel: The channel of the message.
            consents: The consents after the message; None if the message does not change them.
        """
        same = all_of(
            Is("user_id", self.user_id), Is("unproven", self.unproven), Is("reassigned", None)
        )
        if consents is not None and consents != self.consents:
            same = all_of(same, self._consents_as_read)
            changed: dict[str, Any] = _stored_consents(consents)
        else:
            changed = {}
        if self.heard_by.get(channel) == today and not changed:
            return Check(self.key, same)
        days = {name: day.isoformat() for name, day in self.heard_by.items()}
        change = {
            "heard_on": today.isoformat(),
            "heard_by": days | {channel: today.isoformat()},
            "unproven": unproven or self.unproven,
        }
        return Update(self.key, set=change | changed, condition=same)

    def with_consent(self, channel: str, consent: TextConsent) -> ChannelConsents:
        return {**self.consents, channel: consent}

    def without_consent(self, channel: str) -> ChannelConsents:
        return {name: consent for name, consent in self.consents.items() if name != channel}

    def consenting(self, consents: ChannelConsents) -> Update:
        """Return the write that replaces the consents; it fails if these or the owner changed."""
        as_read = all_of(Is("user_id", self.user_id), self._consents_as_read)
        return Update(self.key, set=_stored_consents(consents), condition=as_read)

    def still_consents(self) -> Check:
        """Return the check that the owner and the consents have not changed."""
        same = all_of(Is("user_id", self.user_id), Is("reassigned", None), self._consents_as_read)
        return Check(self.key, same)

    @property
    def _consents_as_read(self) -> Is:
        return Is("consents", _stored_consents(self.consents)["consents"])

    def proven(self, today: date, *, user_id: str | None = None) -> Update:
        """Return the write that marks the address as proven, for its owner or for `user_id`.

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
        """Return the write that releases the address: its next message creates a new person."""
        change = {"unproven": None, "reassigned": True, "consents": None}
        return Update(self.key, set=change, condition=Is("user_id", self.user_id))

    def _silence(self, today: date, channel: str | None) -> int:
        heard_on = self.last_heard(channel)
        return (today - heard_on).days if heard_on is not None else 0

    @staticmethod
    def key_of(tenant: str, address: Address) -> "Key[AddressOwner]":
        return Key(address_partition(tenant, address), META)

    @property
    def key(self) -> "Key[AddressOwner]":
        return self.key_of(self.tenant, self.address)

    def to_item(self) -> Item:
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
    def key_of(tenant: str, address: Address, line: Address) -> "Key[AddressChat]":
        return Key(address_partition(tenant, address), f"{AddressChat.PREFIX}{line}")

    @property
    def key(self) -> "Key[AddressChat]":
        return self.key_of(self.tenant, self.address, self.line)

    def to_item(self) -> Item:
        return self.attributes()


def _stored_consents(consents: ChannelConsents) -> dict[str, Any]:
    stored = {name: each.model_dump(mode="json") for name, each in consents.items()}
    return {"consents": stored or None}


def caller_name(address: Address) -> str:
    """Return a caller's name: "Caller" and the last four characters of the address."""
    return f"{CALLER} {address.address[-4:]}"


def is_caller_name(name: str) -> bool:
    """Return whether a name belongs to a person who is known only by a phone number."""
    return re.fullmatch(rf"{CALLER} .{{1,4}}", name) is not None
