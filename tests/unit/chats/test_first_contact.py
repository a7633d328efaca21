"""First contact: who may be written to first, how often, when, and with which words."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from skein.errors import Conflict, NotFound, SmsRejected
from skein.models.common.address import phone_address
from skein.models.common.quiet_hours import QuietHours
from skein.models.common.reason import Reason
from skein.models.common.storage import Put, Update
from skein.models.config.overrides import TenantSettings
from skein.models.directory.address_index import AddressOwner, TextConsent
from skein.models.directory.user import User
from skein.services.chats.first_contact import Contact, FirstContact, NotNow
from skein.services.chats.post_message import NewMessage
from skein.services.directory.text_consents import TextConsents
from skein.settings import Settings
from tests.fakes.sms import Fault
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.first_contact import CONSENT, SARAH, contact, reachable, text_in
from tests.support.routes import sms_route

INTRODUCTION = "Coach here, for Alice. Reply STOP to get no more texts."
WEEK = NOON + timedelta(days=8)


def world(*, consent: bool = True, line: bool = True, **settings: Any) -> World:
    """Sarah, who has never written, with a phone number."""
    here = World(settings=Settings(**settings))
    here.agent()
    if line:
        here.line()
    reachable(here, consent=consent)
    return here


def say(here: World, chat: Contact, text: str = "When can you come?") -> None:
    here.app.chats.post_message(
        NewMessage(
            tenant=TENANT,
            chat_id=chat.chat_id,
            sender=chat.agent.ref,
            text=text,
            client_id=text,
        ),
        extra_writes=lambda _: here.app.get(FirstContact).charges(chat),
    )


def consents(here: World) -> dict[str, TextConsent]:
    return dict(here.app.get(TextConsents).of_number(TENANT, SARAH, PHONE))


def refusal(here: World, **given: Any) -> str | None:
    with pytest.raises(Conflict) as raised:
        contact(here, **given)
    return raised.value.reason


def test_first_text_says_who_asks_and_how_to_stop_once() -> None:
    here = world()
    chat = contact(here)
    assert contact(here) == chat  # nothing is opened twice

    say(here, chat)
    say(here, chat, "Monday or Tuesday?")
    here.drain()

    assert chat.route == sms_route(line=LINE, phone=PHONE)
    bodies = [sms.body for sms, _ in here.sms.taken]
    assert bodies == [f"{INTRODUCTION}\nWhen can you come?", "Monday or Tuesday?"]
    assert here.texts(chat.chat_id) == ["When can you come?", "Monday or Tuesday?"]


def test_answer_comes_to_the_chat_of_the_first_text() -> None:
    here = world()
    chat = contact(here)
    say(here, chat)

    text_in(here, "Monday")

    assert here.texts(chat.chat_id)[-1] == "Monday"


def test_person_who_writes_before_the_first_text_gets_no_introduction() -> None:
    here = world()
    chat = contact(here)
    text_in(here, "Hello?")

    say(here, chat)
    here.drain()

    assert "When can you come?" in [sms.body for sms, _ in here.sms.taken]


def test_introduction_of_a_tenant_names_the_newest_asker() -> None:
    here = world()
    words = "{agent} schreibt für {asker}. {stop} beendet das."
    own = TenantSettings(tenant=TENANT, settings={"introduction": words}, changed_at=NOON)
    here.table.write(Put(own.key, own.to_item()))
    contact(here)
    chat = contact(here, asker="Ben")

    say(here, chat)
    here.drain()

    [(sms, _)] = here.sms.taken
    assert sms.body.startswith("Coach schreibt für Ben. STOP beendet das.\n")


def _silent(here: World) -> None:
    here.table.write(
        Update(AddressOwner.key_of(TENANT, phone_address(PHONE)), set={"unproven": 200})
    )


def _opted_out(here: World) -> None:
    text_in(here, "START")
    text_in(here, "STOP", "SM2")
    here.app.get(TextConsents).give(TENANT, SARAH, PHONE, "sms", CONSENT)


@pytest.mark.parametrize(
    ("reason", "built", "change"),
    [
        (Reason.NO_CONSENT, {"consent": False}, lambda _: None),
        (Reason.NO_CONSENT, {}, lambda here: text_in(here, "STOP")),
        (Reason.NO_LINE, {"line": False}, lambda _: None),
        (Reason.NUMBER_NOT_ANSWERED, {"answered_countries": ("DE",)}, lambda _: None),
        (Reason.NUMBER_UNPROVEN, {}, _silent),
        (Reason.NUMBER_UNPROVEN, {"number_silence_days": 7}, lambda here: here.clock.set(WEEK)),
        (Reason.OPTED_OUT, {}, _opted_out),
    ],
)
def test_contact_is_refused_with_its_reason(
    reason: Reason, built: dict[str, Any], change: Callable[[World], Any]
) -> None:
    here = world(**built)
    change(here)
    assert refusal(here) == reason
    with pytest.raises(Conflict):
        here.app.get(FirstContact).check(TENANT, "agt_a", SARAH)


def test_contact_in_quiet_hours_comes_at_their_end() -> None:
    here = world()
    here.table.write(
        Update(
            User.key_of(TENANT, SARAH),
            set={"quiet_hours": QuietHours(from_="11:00", to="14:30").model_dump(by_alias=True)},
        )
    )
    with pytest.raises(NotNow) as raised:
        contact(here)
    assert raised.value.reason == Reason.QUIET_HOURS
    assert raised.value.until == datetime(2026, 2, 18, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize("limit", ["user_first_contacts_per_day", "line_first_contacts_per_day"])
def test_contact_over_a_limit_of_the_day_comes_later(limit: str) -> None:
    given: dict[str, Any] = {limit: 2}
    here = world(**given)
    chat = contact(here)
    say(here, chat)
    say(here, chat, "Or Tuesday?")

    with pytest.raises(NotNow) as raised:
        say(here, chat, "Hello?")
    assert raised.value.until == NOON + timedelta(hours=12)
    with pytest.raises(NotNow):
        contact(here)


def test_first_contact_for_a_person_without_shared_chat_is_not_found() -> None:
    here = world()
    alice, sarah = person("usr_alice", "Alice"), person(SARAH, "Sarah")
    here.known(alice)
    with pytest.raises(NotFound):
        contact(here, asked_by=alice.ref)
    here.chat(alice, sarah, bot())
    assert contact(here, asked_by=alice.ref).person.id == SARAH


def test_start_consents_and_stop_revokes() -> None:
    here = world(consent=False)
    text_in(here, "START")
    assert {name: each.how for name, each in consents(here).items()} == {"sms": "start"}
    text_in(here, "Please stop texting me", "SM2")
    assert consents(here) == {}


def test_person_who_wrote_last_from_the_app_gets_the_text_on_the_phone() -> None:
    here = world()
    text_in(here, "Hi")
    here.drain()
    chat = contact(here)
    here.post("From the app", chat.person, chat_id=chat.chat_id)
    here.drain()

    assert contact(here).chat_id == chat.chat_id
    say(here, chat)
    here.drain()

    assert here.sms.bodies[-1] == "When can you come?"


def test_person_who_discarded_the_chat_gets_another_one() -> None:
    here = world()
    chat = contact(here)
    here.app.chat_admin.discard(TENANT, chat.chat_id, chat.person.ref)

    again = contact(here)

    assert again.chat_id != chat.chat_id
    say(here, again)
    here.drain()
    assert here.sms.bodies == [f"{INTRODUCTION}\nWhen can you come?"]


def test_stop_after_the_chat_was_opened_keeps_the_text_back() -> None:
    here = world()
    chat = contact(here)
    text_in(here, "STOP")
    with pytest.raises(Conflict):
        say(here, chat)
    assert here.texts(chat.chat_id) == ["STOP"]


def test_consent_does_not_outlive_the_number() -> None:
    here = world()
    here.app.phone_links.unlink(TENANT, SARAH, PHONE)
    text_in(here, "Hello")
    item = here.table.get(AddressOwner.key_of(TENANT, phone_address(PHONE)))
    assert item is not None
    assert AddressOwner.from_item(item).consents == {}
    with pytest.raises(NotFound):
        consents(here)


def test_opt_out_that_the_carrier_reports_revokes_the_consent() -> None:
    here = world()
    say(here, contact(here))
    here.sms.plan(Fault(SmsRejected("unsubscribed", code=21610)))
    here.drain()
    assert consents(here) == {}
