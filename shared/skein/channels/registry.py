"""The channels of this version, and the providers of their messages, by name."""

from skein.channels.app import APP
from skein.channels.port import AddressSpec, Channel
from skein.channels.sms import SMS
from skein.channels.whatsapp import WHATSAPP

CHANNELS: dict[str, Channel] = {each.name: each for each in (APP, SMS, WHATSAPP)}

PROVIDERS: dict[str, str] = {"twilio": "skein.adapters.twilio.sms.TwilioSms"}
"""The class that sends messages (`skein.ports.Sms`), by the name of the provider. The module of
that name in `webhooks` reads its webhooks, whose paths begin with `/webhooks/<provider>/`."""


def channel_named(name: str | None) -> Channel:
    """Return the channel with a name, or the app for None.

    Raises:
        ValueError: There is no such channel.
    """
    if name is None:
        return APP
    if name not in CHANNELS:
        raise ValueError(f"no channel is named {name!r}")
    return CHANNELS[name]


def reached_by_address() -> dict[str, Channel]:
    """Return the channels that need an address and a line: all but the app."""
    return {name: each for name, each in CHANNELS.items() if each.kind is not None}


def priced_names() -> tuple[str, ...]:
    """Return the names under which usage counts messages: channels, and messages with a file."""
    reached = reached_by_address()
    files = (each.media_name for each in reached.values() if each.media_name is not None)
    return (*reached, *files)


def kind_named(name: str) -> AddressSpec:
    """Return a kind of address.

    Raises:
        ValueError: No channel has such addresses.
    """
    for channel in CHANNELS.values():
        if channel.kind is not None and channel.kind.name == name:
            return channel.kind
    raise ValueError(f"no channel has addresses of the kind {name!r}")


def kinds() -> dict[str, AddressSpec]:
    return {each.kind.name: each.kind for each in CHANNELS.values() if each.kind is not None}


def first_channel_of(kind: str | None) -> Channel:
    """Return the first channel with a kind of address, or the app for None."""
    found = (each for each in CHANNELS.values() if each.kind is not None and each.kind.name == kind)
    return next(found, APP)


def channel_at(address: str) -> tuple[Channel, str]:
    """Return the channel of an address as a provider writes it, and the address without prefix.

    `whatsapp:+15005550006` is an address of WhatsApp. An address without a prefix is an address of
    SMS.
    """
    found = max(
        (each for each in reached_by_address().values() if address.startswith(each.prefix)),
        key=lambda each: len(each.prefix),
    )
    return found, address.removeprefix(found.prefix)
