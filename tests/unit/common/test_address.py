"""Addresses of people and lines, and the keys that name them."""

import pytest

from skein.models.chats.chat import Chat
from skein.models.common.address import Address, Route, phone_address, route_on
from skein.models.directory.address_index import AddressChat, AddressOwner, caller_name
from skein.models.directory.line import Line
from tests.support.builders import LINE, NOON, PHONE, TENANT


def test_keys_name_the_kind_before_the_address() -> None:
    line, person = phone_address(LINE), phone_address(PHONE)
    assert Line.key_of(line).pk == f"LINE#phone#{LINE}"
    assert AddressOwner.key_of(TENANT, person).pk == f"{TENANT}#ADDRESS#phone#{PHONE}"
    assert AddressChat.key_of(TENANT, person, line).sk == f"LINE#phone#{LINE}"


@pytest.mark.parametrize(
    "number", ["", "15005550006", "+1 500 555 0006", "+1", "phone#+15005550006"]
)
def test_a_phone_address_is_a_number_in_e164(number: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        phone_address(number)


def test_an_address_is_of_a_kind_that_a_channel_has() -> None:
    with pytest.raises(ValueError, match="no channel"):
        Address(kind="other", address=LINE)


def test_a_stored_chat_has_the_kind_and_the_address_of_its_line() -> None:
    chat = Chat(
        tenant=TENANT,
        id="chat_1",
        kind="direct",
        visibility="private",
        line=phone_address(LINE),
        activity_hour=NOON,
        created_at=NOON,
    )
    assert chat.to_item()["line"] == {"kind": "phone", "address": LINE}
    assert Chat.from_item(chat.to_item()) == chat


@pytest.mark.parametrize("channel", ["app", "other"])
def test_a_route_is_of_a_channel_with_addresses(channel: str) -> None:
    person = phone_address(PHONE)
    with pytest.raises(ValueError, match=f"channel.*{channel}"):
        Route(channel=channel, line=phone_address(LINE), person=person)


def test_a_route_on_a_channel_has_addresses_of_its_kind() -> None:
    route = route_on("sms", line=LINE, person=PHONE)
    assert (route.line, route.person) == (phone_address(LINE), phone_address(PHONE))


def test_a_caller_is_named_by_the_end_of_the_address() -> None:
    assert caller_name(phone_address("+15005550123")) == "Caller 0123"
