"""Inbound SMS: the sender, the chat, the stored message and the keywords."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from skein.errors import NotFound, Unprocessable
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.address import phone_address
from skein.models.common.reason import Reason
from skein.models.common.storage import Put, Update, Write
from skein.models.delivery.sms import InboundSms
from skein.models.directory.address_index import AddressChat, AddressOwner
from skein.models.directory.line import Line
from skein.models.directory.user import NameWord, User
from skein.prompts import render
from skein.services.chats.post_message import PostedMessage
from skein.settings import Settings
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, statuses
from tests.support.routes import sms_route

ACCOUNT = "AC00000000000000000000000000000001"


def world(**settings: Any) -> World:
    built = World(settings=Settings(**settings))
    built.agent()
    built.line()
    return built


def text(body: str = "hi", *, sid: str = "SM1", **fields: Any) -> InboundSms:
    given = {"account_sid": ACCOUNT, "message_sid": sid, "sender": PHONE, "recipient": LINE}
    return InboundSms.model_validate(given | {"body": body} | fields)


def receive(in_: World, body: str = "hi", *, sid: str = "SM1", **fields: Any) -> PostedMessage:
    posted = in_.app.sms_receiver.receive(text(body, sid=sid, **fields))
    assert posted is not None
    return posted


def membership_of(in_: World, posted: PostedMessage) -> Membership:
    return in_.membership(posted.message.sender.ref, posted.message.chat_id)


# ---------------------------------------------------------------------- sender and chat


def test_first_sms_creates_the_person_their_chat_and_the_message() -> None:
    here = world()

    posted = receive(here, "Good morning")

    message = posted.message
    assert (message.seq, message.text, message.kind) == (1, "Good morning", "text")
    assert message.sender.name == "Caller 0100"
    chat = here.stored_chat(message.chat_id)
    assert (chat.kind, chat.visibility, chat.respond) == ("direct", "private", "every")
    assert chat.roster == (message.sender, bot())
    item = here.table.get(User.key_of(TENANT, message.sender.id))
    assert item is not None
    assert User.from_item(item).phones == (PHONE,)
    for word in ("caller", "0100"):
        assert here.table.get(NameWord.key_of(TENANT, word, message.sender.id)), word
    assert membership_of(here, posted).route == sms_route(line=LINE, phone=PHONE)
    assert statuses(here.runs(message.chat_id)) == ["queued"]


def test_the_next_text_goes_into_the_same_chat() -> None:
    here = world()
    first = receive(here, sid="SM1")
    second = receive(here, sid="SM2")
    assert second.message.chat_id == first.message.chat_id
    assert second.message.seq == 2


def test_the_same_text_again_is_the_same_message() -> None:
    here = world()
    first = receive(here, "once")
    again = receive(here, "once")
    assert (first.created, again.created) == (True, False)
    assert again.message == first.message


def test_the_same_sid_of_another_account_is_another_message() -> None:
    here = world()
    receive(here)
    assert receive(here, account_sid="AC2").message.seq == 2


def test_a_known_number_is_its_owner_whatever_the_name() -> None:
    here = world()
    user = User(
        tenant=TENANT,
        id="usr_husam",
        name="Husam",
        addresses=(phone_address(PHONE),),
        profile={},
        created_at=NOON,
    )
    owner = AddressOwner(tenant=TENANT, address=phone_address(PHONE), user_id=user.id)
    here.table.write(Put(user.key, user.to_item()))
    here.table.write(Put(owner.key, owner.to_item()))
    assert receive(here).message.sender.name == "Husam"


def test_two_first_texts_at_once_make_one_person_and_one_chat() -> None:
    here = world()
    with ThreadPoolExecutor(8) as pool:
        posted = list(pool.map(lambda n: receive(here, sid=f"SM{n}"), range(8)))
    assert len({p.message.chat_id for p in posted}) == 1
    assert sorted(p.message.seq for p in posted) == list(range(1, 9))
    assert len({p.message.sender.id for p in posted}) == 1


def test_the_very_first_text_delivered_twice_at_once_is_one_message() -> None:
    here = world()
    with ThreadPoolExecutor(8) as pool:
        posted = list(pool.map(lambda _: receive(here, "once"), range(8)))
    assert len({p.message.id for p in posted}) == 1
    assert sum(p.created for p in posted) == 1
    assert here.texts(posted[0].message.chat_id) == ["once"]


def test_the_same_phone_has_a_chat_with_each_line() -> None:
    here = world()
    here.line(phone="+15005550007")
    one = receive(here, sid="SM1")
    other = receive(here, sid="SM2", recipient="+15005550007")
    assert one.message.chat_id != other.message.chat_id
    assert one.message.sender == other.message.sender


def test_one_phone_is_two_people_in_two_tenants() -> None:
    here = world()
    here.table.write(
        Put(
            Line.key_of(phone_address("+15005550009")),
            Line(
                tenant="other",
                address=phone_address("+15005550009"),
                agent_id="agt_o",
                settings={},
                created_at=NOON,
            ).to_item(),
        )
    )
    ours = receive(here)
    with pytest.raises(NotFound, match="the line has no agent"):  # that tenant has no such agent
        receive(here, sid="SM2", recipient="+15005550009")
    assert here.texts(ours.message.chat_id) == ["hi"]


# ---------------------------------------------------------------------- chats of a line


def test_a_line_that_leads_to_another_agent_starts_a_new_chat() -> None:
    here = world()
    before = receive(here, sid="SM1")
    here.agent("agt_b", "Tutor")
    here.line(agent_id="agt_b")
    after = receive(here, sid="SM2")
    assert after.message.chat_id != before.message.chat_id
    assert after.message.sender == before.message.sender
    assert here.stored_chat(after.message.chat_id).roster[1].name == "Tutor"
    assert receive(here, sid="SM3").message.chat_id == after.message.chat_id


@pytest.mark.parametrize("known", [True, False])
def test_concurrent_open_finds_the_chat_of_the_first_sms(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world()
    if known:  # by a line that has come to lead to another agent
        receive(here)
        here.agent("agt_b", "Tutor")
        here.line(agent_id="agt_b")
    transact, quicker = here.table.transact, list[PostedMessage]()

    def overtaken(writes: Sequence[Write]) -> None:
        monkeypatch.setattr(here.table, "transact", transact)
        quicker.append(receive(here, sid="SM2"))
        transact(writes)

    monkeypatch.setattr(here.table, "transact", overtaken)
    later = receive(here, sid="SM3")
    assert later.message.chat_id == quicker[0].message.chat_id
    assert [quicker[0].message.seq, later.message.seq] == [1, 2]


def test_opt_out_stays_after_the_line_moves_to_another_agent() -> None:
    here = world()
    receive(here, "STOP", sid="SM1")
    here.agent("agt_b", "Tutor")
    here.line(agent_id="agt_b")
    after = receive(here, "hello?", sid="SM2")
    assert membership_of(here, after).opt_outs


def stopped_after_line_moved() -> tuple[World, str]:
    """A world, and a chat with a text that waits; the person's STOP is in the line's newer chat."""
    here = world()
    before = receive(here, sid="SM1").message.chat_id
    here.post("One moment", bot(), chat_id=before)
    here.agent("agt_b", "Tutor")
    here.line(agent_id="agt_b")
    receive(here, "STOP", sid="SM2")
    return here, before


def test_stop_in_the_new_chat_of_a_line_holds_for_the_chat_before() -> None:
    here, before = stopped_after_line_moved()
    here.post("About your plan", bot(), chat_id=before)
    here.drain()
    assert here.sms.bodies == []
    for each in here.deliveries(before):
        assert (each.status, each.reason) == ("canceled", Reason.OPTED_OUT)


def test_text_of_the_chat_before_is_sent_after_a_start_in_the_new_chat_of_a_line() -> None:
    here, before = stopped_after_line_moved()
    receive(here, "START", sid="SM3")
    here.post("About your plan", bot(), chat_id=before)
    here.drain()
    assert {"One moment", "About your plan"} <= {*here.sms.bodies}


def test_after_a_chat_is_discarded_there_is_a_fresh_one() -> None:
    here = world()
    before = receive(here, sid="SM1")
    here.app.chat_admin.discard(TENANT, before.message.chat_id, before.message.sender.ref)
    after = receive(here, sid="SM2")
    assert after.message.chat_id != before.message.chat_id
    assert after.message.seq == 1
    assert receive(here, sid="SM3").message.chat_id == after.message.chat_id


def test_a_repeat_after_the_chat_was_discarded_is_still_the_same_message() -> None:
    here = world()
    before = receive(here, sid="SM1")
    here.app.chat_admin.discard(TENANT, before.message.chat_id, before.message.sender.ref)
    again = receive(here, sid="SM1")
    assert again == PostedMessage(before.message, created=False)


def test_number_of_a_new_owner_gets_a_new_chat() -> None:
    here = world()
    before = receive(here, sid="SM1")
    heir = User(
        tenant=TENANT,
        id="usr_heir",
        name="Heir",
        addresses=(phone_address(PHONE),),
        profile={},
        created_at=NOON,
    )
    owner = AddressOwner(tenant=TENANT, address=phone_address(PHONE), user_id=heir.id)
    here.table.write(Put(heir.key, heir.to_item()))
    here.table.write(Put(owner.key, owner.to_item()))
    after = receive(here, sid="SM2")
    assert after.message.chat_id != before.message.chat_id
    assert after.message.sender.id == "usr_heir"


def test_a_number_that_is_no_line_is_not_found_and_nothing_is_stored() -> None:
    here = World()
    with pytest.raises(NotFound):
        receive(here)
    assert here.table.get(AddressOwner.key_of(TENANT, phone_address(PHONE))) is None


def test_line_of_a_deleted_agent_refuses_new_callers() -> None:
    here = world()
    here.agent(deleted_at=NOON)
    with pytest.raises(NotFound):
        receive(here)
    assert (
        here.table.get(AddressChat.key_of(TENANT, phone_address(PHONE), phone_address(LINE)))
        is None
    )


@pytest.mark.parametrize(
    "sender", ["12345", "TWILIO", "whatsapp:+15005550100", "", "+1500", "+1 500 555 0100 ext. 5"]
)
def test_sms_from_invalid_phone_number_is_refused(sender: str) -> None:
    here = world()
    with pytest.raises(Unprocessable, match="form"):
        receive(here, sender=sender)


# ---------------------------------------------------------------------- media and keywords


@pytest.mark.parametrize("body", ["", " \n"])
def test_an_empty_text_leaves_no_trace(body: str) -> None:
    here = world()
    assert here.app.sms_receiver.receive(text(body)) is None
    assert here.table.get(AddressOwner.key_of(TENANT, phone_address(PHONE))) is None


@pytest.mark.parametrize("body", ["STOP", " stop\n", "Stop.", '"Unsubscribe!"', "optout", "REVOKE"])
def test_stop_keyword_records_opt_out_and_starts_no_run(body: str) -> None:
    here = world()
    posted = receive(here, body)
    assert (posted.message.kind, posted.message.text) == ("keyword", body)
    assert membership_of(here, posted).opt_outs == {"sms": NOON}
    assert here.runs(posted.message.chat_id) == []


def sent(here: World) -> list[str]:
    here.drain()
    return here.sms.bodies


def test_wish_to_stop_in_other_words_is_confirmed_once() -> None:
    here = world()
    for sid in ("SM1", "SM1", "SM2"):
        posted = receive(here, "No more texts, please", sid=sid)
    assert posted.message.kind == "keyword"
    assert sent(here) == [render("notice_opted_out")]
    here.post("Are you there?", bot(), chat_id=posted.message.chat_id)
    assert len(sent(here)) == 1


@pytest.mark.parametrize(("countries", "kind"), [((), "text"), (("US", "DE"), "keyword")])
def test_wish_to_stop_is_understood_in_the_languages_that_the_line_answers(
    countries: tuple[str, ...], kind: str
) -> None:
    here = world(answered_countries=countries)
    assert receive(here, "Bitte abmelden").message.kind == kind


def test_wish_to_stop_after_start_is_confirmed_again() -> None:
    here = world()
    for number, body in enumerate(("Stop please", "START", "Stop please")):
        here.clock.advance(60)
        receive(here, body, sid=f"SM{number}")
    assert sent(here) == [render("notice_opted_out")] * 2


def test_stop_that_twilio_answers_is_not_confirmed_by_skein() -> None:
    here = world()
    receive(here, "STOP")
    receive(here, "arr\u00eatez", sid="SM2", opt_out_type="STOP")
    assert sent(here) == []


def test_start_keyword_enables_sms_again() -> None:
    here = world()
    receive(here, "stop", sid="SM1")
    posted = receive(here, "START", sid="SM2")
    assert posted.message.kind == "keyword"
    assert membership_of(here, posted).opt_outs == {}


def test_help_is_a_keyword_that_changes_nothing() -> None:
    here = world()
    receive(here, "stop", sid="SM1")
    posted = receive(here, "HELP", sid="SM2")
    assert posted.message.kind == "keyword"
    assert membership_of(here, posted).opt_outs == {"sms": NOON}
    assert here.runs(posted.message.chat_id) == []


def test_yes_is_a_keyword_only_after_an_opt_out() -> None:
    here = world()
    answer = receive(here, "Yes", sid="SM1")
    assert answer.message.kind == "text"
    receive(here, "stop", sid="SM2")
    start = receive(here, "Yes", sid="SM3")
    assert start.message.kind == "keyword"
    assert membership_of(here, start).opt_outs == {}


def test_a_text_takes_the_same_few_calls_however_long_the_chat_is() -> None:
    here = world()
    chat_id = receive(here, sid="SM1").message.chat_id
    here.table.write(Update(Chat.key_of(TENANT, chat_id), set={"last_seq": 5_000}))
    before = len(here.table.log)
    receive(here, sid="SM2")
    assert len(here.table.log) - before == 6  # line, look-ups, limits, their write, room; all


def test_keywords_without_effect_are_limited_and_a_stop_always_counts() -> None:
    here = world(user_messages_per_minute=3)
    stored = [here.app.sms_receiver.receive(text("HELP", sid=f"SM{n}")) for n in range(9)]
    assert [each is not None for each in stored] == [True] * 3 + [False] * 6
    posted = receive(here, "STOP", sid="SMstop")
    assert membership_of(here, posted).opt_outs == {"sms": NOON}
    later = [here.app.sms_receiver.receive(text(each, sid=each)) for each in ("stop", "START")]
    assert later == [None, None]
    kinds = [each.kind for each in here.messages(posted.message.chat_id)]
    assert kinds == ["keyword"] * 4  # and no notice
    here.clock.advance(60)
    started = receive(here, "START", sid="SMstart")
    assert membership_of(here, started).opt_outs == {}


@pytest.mark.parametrize("sender", ["+33612345678", "+19005550123", "+8816123456789"])
def test_text_from_a_number_that_is_not_answered_is_stored_and_starts_no_run(sender: str) -> None:
    here = world()
    posted = receive(here, sender=sender)
    assert posted.message.reason == Reason.NUMBER_NOT_ANSWERED
    assert here.runs(posted.message.chat_id) == []


def test_a_lost_number_is_a_new_persons_although_its_whatsapp_is_in_use() -> None:
    here = World(Settings(number_silence_days=180))
    here.agent()
    here.line(channels=("sms", "whatsapp"))
    first = receive(here, sid="SM1").message.chat_id
    for day in range(4):
        here.clock.advance(50 * 24 * 3_600)
        posted = receive(here, sid=f"SM1{day}", channel="whatsapp")
        assert posted.message.chat_id == first
    assert receive(here, sid="SM2").message.chat_id != first
