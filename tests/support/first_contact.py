"""A person who has never written to the agent, with a number and a consent to texts."""

from typing import Any

from skein.models.common.address import phone_address
from skein.models.common.storage import Put
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressOwner, TextConsent
from skein.models.directory.user import User
from skein.services.chats.first_contact import Contact, FirstContact
from skein.services.directory.text_consents import TextConsents
from tests.support.builders import LINE, NOON, PHONE, TENANT, World

SARAH = "usr_sarah"
CONSENT = TextConsent(at=NOON, how="operator", by="usr_ops", proof="Signed form of 3 February")


def reachable(
    here: World,
    user_id: str = SARAH,
    name: str = "Sarah",
    phone: str = PHONE,
    *,
    consent: bool = True,
    channel: str = "sms",
) -> User:
    """Store a person with a number, who consents to texts unless told otherwise."""
    address = phone_address(phone)
    user = User(
        tenant=TENANT,
        id=user_id,
        name=name,
        addresses=(address,),
        time_zone="UTC",
        created_at=NOON,
    )
    owner = AddressOwner(tenant=TENANT, address=address, user_id=user_id, heard_on=NOON.date())
    here.table.write(Put(user.key, user.to_item()))
    here.table.write(Put(owner.key, owner.to_item()))
    if consent:
        here.app.get(TextConsents).give(TENANT, user_id, phone, channel, CONSENT)
    return user


def contact(here: World, **given: Any) -> Contact:
    """Open a chat with Sarah, in which Coach may write first for Alice."""
    return here.app.get(FirstContact).open(TENANT, "agt_a", SARAH, **{"asker": "Alice"} | given)


def text_in(here: World, body: str, sid: str = "SM1", phone: str = PHONE) -> None:
    """Receive an SMS of a person."""
    here.app.sms_receiver.receive(
        InboundSms(
            account_sid="AC00000000000000000000000000000001",
            message_sid=sid,
            sender=phone,
            recipient=LINE,
            body=body,
        )
    )
