"""Addresses of people and lines, and the routes between them on a channel.

Each address has a kind, such as phone number. All channels that use this kind of address reach the
same person: someone who writes from one number by SMS and by WhatsApp is one person.
"""

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from skein.channels.registry import channel_named, kind_named, kinds, reached_by_address
from skein.models.common.base import Value, key_part


def _with_addresses(name: str) -> str:
    if channel_named(name).kind is None:
        raise ValueError(f"people have no addresses on the channel {name!r}")
    return name


ReachingChannel: Any = Literal[tuple(reached_by_address())]
"""The names of all channels except the app, for the description of the API."""

ChannelName = Annotated[
    str,
    AfterValidator(_with_addresses),
    WithJsonSchema({"type": "string", "enum": list(get_args(ReachingChannel))}),
]
"""The name of a channel other than the app."""


class Address(Value):
    """The address of a person or a line.

    Attributes:
        kind: The kind of the address, such as `phone`.
        address: The address in the stored form of its kind; for `phone`, E.164.

    Raises:
        ValueError: The address does not have the form of its kind.
    """

    kind: str
    address: str

    def __str__(self) -> str:
        """Return the address as a part of a key: `phone#+15005550006`."""
        return f"{key_part(self.kind)}#{key_part(self.address)}"

    @model_validator(mode="after")
    def _has_the_form(self) -> Self:
        if kind_named(self.kind).form.fullmatch(self.address) is None:
            raise ValueError(f"the text does not match the pattern of the kind {self.kind!r}")
        return self


class Route(Value):
    """The two ends of a conversation, and the channel between them.

    Attributes:
        channel: The channel of the person's newest message.
        line: The line that is used now. `Chat.line` is the line on which the chat began.
        unproven: How many days the person's number was silent, if that made the number unproven;
            otherwise None.
    """

    channel: ChannelName
    line: Address
    person: Address
    unproven: Annotated[int | None, Field(exclude_if=lambda days: days is None)] = None

    def after(self, unproven: int | None) -> "Route":
        return self.model_copy(update={"unproven": unproven})


def phone_address(number: str) -> Address:
    """Return the address of a phone number in E.164.

    Raises:
        ValueError: The number is not in E.164.
    """
    return Address(kind="phone", address=number)


def address_at(text: str) -> Address:
    """Return the address of a line from its stored form, which does not name the kind.

    Raises:
        ValueError: The text does not have the form of any kind of address.
    """
    for name, kind in kinds().items():
        if kind.form.fullmatch(text):
            return Address(kind=name, address=text)
    raise ValueError("the text is no address of any channel")


def route_on(channel: str, *, line: str, person: str) -> Route:
    """Return the route between a line and a person on a channel.

    Raises:
        ValueError: An address does not have the form of the channel's kind.
    """
    kind = channel_named(channel).kind
    name = kind.name if kind is not None else ""
    return Route(
        channel=channel,
        line=Address(kind=name, address=line),
        person=Address(kind=name, address=person),
    )
