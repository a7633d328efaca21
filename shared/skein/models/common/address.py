"""Channels, and the addresses of people and lines on them."""

from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from skein.models.common.base import E164, Value, key_part

Channel = Literal["sms"]
"""The channels besides the app."""

CHANNEL_NAMES: dict[Channel, str] = {"sms": "SMS"}
"""The names of channels in titles."""

_FORMS: dict[Channel, TypeAdapter[str]] = {"sms": TypeAdapter(E164)}


class Address(Value):
    """The address of a person or a line on one channel.

    Attributes:
        address: The address in the form in which the channel stores it; for SMS, E.164.

    Raises:
        ValueError: The address does not have the form of its channel.
    """

    channel: Channel
    address: str

    def __str__(self) -> str:
        """Return the address as a part of a key: `sms#+15005550006`."""
        return f"{key_part(self.channel)}#{key_part(self.address)}"

    @model_validator(mode="after")
    def _has_the_form(self) -> Self:
        _FORMS[self.channel].validate_python(self.address)
        return self


class Route(Value):
    """The two ends of a conversation on a channel: the addresses of a line and of a person.

    Attributes:
        line: The line that is used now. `Chat.line` is the line on which the chat began.
        unproven: If the person's number is unproven, the days of its silence; else None.
    """

    line: Address
    person: Address
    unproven: Annotated[int | None, Field(exclude_if=lambda days: days is None)] = None

    @property
    def channel(self) -> Channel:
        """The channel of both addresses."""
        return self.person.channel

    def after(self, unproven: int | None) -> "Route":
        """Return the route with the days of silence that made the number unproven, if it is."""
        return self.model_copy(update={"unproven": unproven})


def sms_address(number: str) -> Address:
    """Return the SMS address of a phone number in E.164.

    Raises:
        ValueError: The number is not in E.164.
    """
    return Address(channel="sms", address=number)


def sms_route(*, line: str, phone: str) -> Route:
    """Return the route of SMS between a line's number and a person's, both in E.164.

    Raises:
        ValueError: A number is not in E.164.
    """
    return Route(line=sms_address(line), person=sms_address(phone))
