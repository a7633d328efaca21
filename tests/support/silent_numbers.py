"""A person who texts from one number to two lines, and is silent for days."""

from typing import Any

from skein.models.common.address import phone_address
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressOwner
from skein.models.directory.user import User
from skein.services.chats.post_message import PostedMessage
from skein.settings import Settings
from tests.support.builders import LINE, PHONE, TENANT, World
from tests.support.template import running

DAY = 86_400
SECOND_LINE = "+15005550007"
SECRET = "HIV test was positive"


def world(**settings: Any) -> World:
    built = World(settings=Settings(**settings))
    built.agent()
    built.line()
    built.line(phone=SECOND_LINE)
    return built


def text(
    here: World, body: str = "hi", *, sid: str = "SM1", line: str = LINE, sender: str = PHONE
) -> PostedMessage:
    with running("SmsWebhook"):
        posted = here.app.sms_receiver.receive(
            InboundSms(account_sid="AC1", message_sid=sid, sender=sender, recipient=line, body=body)
        )
    assert posted is not None
    return posted


def days_pass(here: World, days: int) -> None:
    here.clock.advance(days * DAY)


def owner(here: World) -> AddressOwner:
    item = here.table.get(AddressOwner.key_of(TENANT, phone_address(PHONE)))
    assert item is not None
    return AddressOwner.from_item(item)


def user(here: World, user_id: str) -> User:
    return here.app.users.get(TENANT, user_id)
