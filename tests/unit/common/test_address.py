"""Addresses of people and lines, and the keys that name them."""

import pytest

from skein.models.chats.chat import Chat
from skein.models.common.address import Address, sms_address, sms_route
from skein.models.directory.address_index import AddressChat, AddressOwner, caller_name
from skein.models.directory.line import Line
from tests.support.builders import LINE, NOON, PHONE, TENANT


def test_keys_name_the_channel_before_the_address() -> None:
    line, person = sms_address(LINE), sms_address(PHONE)
    assert Line.key_of(line).pk == f"LINE#sms#{LINE}"
    assert AddressOwner.key_of(TENANT, person).pk == f"{TENANT}#ADDRESS#sms#{PHONE}"
    assert AddressChat.key_of(TENANT, person, line).sk == f"LINE#sms#{LINE}"


def test_the_same_number_on_another_channel_is_another_line() -> None:
    other = Address.model_construct(channel="other", address=LINE)  # type: ignore[arg-type]
    assert Line.key_of(other) != Line.key_of(sms_address(LINE))


@pytest.mark.parametrize("number", ["", "15005550006", "+1 500 555 0006", "+1", "sms#+15005550006"])
def test_an_sms_address_is_a_number_in_e164(number: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        sms_address(number)


def test_a_stored_chat_has_the_channel_and_the_address_of_its_line() -> None:
    chat = Chat(
        tenant=TENANT,
        id="chat_1",
        kind="direct",
        visibility="private",
        line=sms_address(LINE),
        activity_hour=NOON,
        created_at=NOON,
    )
    assert chat.to_item()["line"] == {"channel": "sms", "address": LINE}
    assert Chat.from_item(chat.to_item()) == chat


def test_a_route_is_of_the_channel_of_its_addresses() -> None:
    route = sms_route(line=LINE, phone=PHONE)
    assert (route.channel, route.line.address, route.person.address) == ("sms", LINE, PHONE)


def test_a_caller_is_named_by_the_end_of_the_address() -> None:
    assert caller_name(sms_address("+15005550123")) == "Caller 0123"
