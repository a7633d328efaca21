"""Questions that are asked and answered by SMS, through the webhook."""

import json
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

import admin_api
import mobile_api
import sms_webhook
from skein.errors import Ambiguous, Unavailable, Unprocessable
from skein.inbound.sms_answers import SmsAnswers
from skein.models.chats.choice import NO, YES, Option
from skein.models.common.address import phone_address
from skein.models.common.reason import Reason
from skein.models.common.storage import Update
from skein.models.directory.address_index import AddressOwner
from skein.privacy.models.forgetting import ForgettingData, ForgottenMessage
from skein.prompts import render
from skein.services.choices.answering import Answering
from skein.services.choices.codes import CodeMatch, MatchedAnswer
from skein.services.choices.effect import GivenAnswer
from skein.services.choices.typed_answers import Unsure
from tests.fakes.sms import Fault
from tests.support.api_client import Client
from tests.support.builders import LINE, PHONE, TENANT, bot, person
from tests.support.choices import POST
from tests.support.fakes import says
from tests.support.sms_choices import REPLY, SMS, WORDS, Phone, ready_phone
from tests.support.webhooks import invoke, signed_world

SECOND_LINE = "+15005550007"
WRONG, ALONE = render("notice_wrong_code"), render("notice_code_alone")
OVER, CLOSED = render("notice_choice_over"), render("notice_sms_answers_closed")
DAY = timedelta(days=1)


@pytest.fixture
def phone() -> Phone:
    return ready_phone()


@pytest.fixture
def limited() -> Phone:
    """A phone that may send eight messages a minute."""
    return Phone(signed_world(user_messages_per_minute=8))


def wrong(codes: dict[str, str], number: int = 0) -> str:
    """A number that is no code."""
    candidates = (f"{100_000 + n}" for n in range(100))
    return [code for code in candidates if code not in codes.values()][number]


# ---------------------------------------------------------------------- the question


def test_question_by_sms_shows_a_number_for_each_answer(phone: Phone) -> None:
    codes = phone.ask()
    assert set(codes) == {"Yes", "No"}
    assert phone.world.sms.bodies[-1] == (
        f"Shall I book it?\nYes: reply {codes['Yes']}. No: reply {codes['No']}."
    )
    assert phone.messages[-1].text == "Shall I book it?\nYes / No"


def test_question_by_sms_for_words_shows_one_number(phone: Phone) -> None:
    codes = phone.ask(question="Which **color**?", options=())
    assert phone.world.sms.bodies[-1] == (f"Which color? Reply {codes[WORDS]} and your answer.")


def test_skeins_own_question_shows_every_character(phone: Phone) -> None:
    """Words are shown as they will be posted."""
    phone.ask(
        purpose="consent", data=POST, question='Post in "Team": "**Late** [x](https://x.example)"?'
    )
    assert '"**Late** [x](https://x.example)"?' in phone.world.sms.bodies[-1]


def test_question_in_the_app_has_no_numbers(phone: Phone) -> None:
    phone.world.post("Hi from the app", person(phone.user_id), chat_id=phone.chat_id)
    phone.world.drain()
    sent = len(phone.world.sms.bodies)
    phone.ask()
    assert [choice.codes for choice in phone.choices.open] == [{}]
    assert len(phone.world.sms.bodies) == sent


def test_question_is_sent_again_with_the_same_numbers(phone: Phone) -> None:
    phone.world.sms.plan(Fault(Unavailable("down")))
    phone.ask(deliver=False)
    phone.world.run_ready()
    [listed] = phone.choices.open
    phone.world.clock.advance(400)
    phone.world.tick()
    phone.world.drain()
    assert phone.world.sms.bodies[-1].startswith("Shall I book it?")
    assert all(code in phone.world.sms.bodies[-1] for code in listed.codes.values())


def test_question_of_unknown_outcome_is_found_by_its_numbers(phone: Phone) -> None:
    phone.world.sms.plan(Fault(Ambiguous("lost"), after_effect=True))
    phone.ask()
    phone.world.clock.advance(61)
    phone.world.tick()
    phone.world.drain()
    questions = [body for body in phone.world.sms.bodies if "reply" in body]
    assert len(questions) == 1
    assert phone.world.deliveries(phone.chat_id)[-1].status == "sent"


def test_id_of_an_answer_is_not_accepted_from_another_number(phone: Phone) -> None:
    sid = phone.text(phone.ask()["Yes"])
    stranger = SMS.but(MessageSid=sid, From="+15005550177", Body="Hi").signed()
    assert invoke(sms_webhook, phone.world, stranger)["statusCode"] == 403


@pytest.mark.parametrize("how", ["answered", "expired"])
def test_question_that_is_over_before_it_was_sent_is_not_sent(phone: Phone, how: str) -> None:
    phone.ask(deliver=False)
    if how == "answered":
        given = GivenAnswer(
            tenant=TENANT,
            chat_id=phone.chat_id,
            person_id=phone.user_id,
            seq=phone.messages[-1].seq,
            option=YES,
            client_id="app",
        )
        phone.world.app.get(Answering).answer(given)
    else:
        phone.world.clock.advance(DAY.total_seconds())
    phone.world.drain()
    [delivery] = [
        one for one in phone.world.deliveries(phone.chat_id) if one.reason == "choice_over"
    ]
    assert delivery.status == "canceled"
    assert [message.lost for message in phone.messages if message.choice is not None] == [None]
    assert not any("reply" in body for body in phone.world.sms.bodies)


@pytest.mark.parametrize("label", ["Stop", "Help", "Cancel", "Parar", "482113", "No 482113"])
def test_label_that_means_something_else_in_an_sms_is_refused(phone: Phone, label: str) -> None:
    before = phone.messages
    with pytest.raises(Unprocessable, match="means something else"):
        phone.ask(options=(Option(id="a", label="Yes"), Option(id="b", label=label)))
    assert phone.messages == before
    assert phone.choices.open == ()


# ---------------------------------------------------------------------- answers


@pytest.mark.parametrize("form", ["{}", "yes: {}.", "{} YES", "  {}\n"])
def test_number_answers_the_question_and_starts_one_run(phone: Phone, form: str) -> None:
    codes, before = phone.ask(), len(phone.runs)
    phone.world.model.script.append("Booked.")

    phone.text(form.format(codes["Yes"]))

    question, answer, said = phone.messages[-3:]
    assert phone.asked.answer is not None
    assert (phone.asked.answer.option, phone.asked.answer.seq) == (YES, answer.seq)
    assert (answer.kind, answer.text, answer.reply_to) == ("text", "Yes", question.seq)
    assert said.text == "Booked."
    assert len(phone.runs) == before + 1
    assert phone.world.sms.bodies[-1] == "Booked."
    assert phone.choices.open == ()


def test_number_and_words_answer_in_words(phone: Phone) -> None:
    codes, before = phone.ask(question="Which color?", options=()), len(phone.runs)
    phone.text(f"{codes[WORDS]} Blue, please! Order 123456.")
    answer = phone.messages[-2]
    assert (answer.kind, answer.text) == ("text", "Blue, please! Order 123456.")
    assert len(phone.runs) == before + 1


def test_number_without_free_text_gets_a_hint(phone: Phone) -> None:
    codes = phone.ask(question="Which color?", options=())
    seq, before = len(phone.messages), len(phone.runs)
    phone.text(codes[WORDS])
    assert phone.said(seq) == [("keyword", codes[WORDS]), ("notice", ALONE)]
    assert len(phone.runs) == before
    assert len(phone.choices.open) == 1


def test_answer_to_skeins_own_question_starts_no_run(phone: Phone) -> None:
    codes, before = phone.ask(purpose="consent", data=POST), len(phone.runs)
    phone.text(codes["No"])
    assert phone.asked.answer is not None
    assert phone.asked.answer.option == NO
    assert phone.messages[-1].kind == "keyword"
    assert len(phone.runs) == before


def test_each_of_two_questions_has_its_own_numbers(phone: Phone) -> None:
    first = phone.ask()
    second = phone.ask(client_id="ask-2", question="Shall I pay it?")
    assert len({*first.values(), *second.values()}) == 4
    phone.text(first["No"])
    asked = [message.choice for message in phone.messages if message.choice is not None]
    assert [one.answer and one.answer.option for one in asked] == [NO, None]


@pytest.mark.parametrize("body", ["yes, but later", "book it", "yes please {}"])
def test_other_text_is_an_ordinary_message(phone: Phone, body: str) -> None:
    codes, before = phone.ask(), len(phone.runs)
    phone.text(body.format(codes["Yes"]))
    assert phone.asked.answer is None
    assert phone.messages[-2].kind == "text"
    assert len(phone.runs) == before + 1


def test_stop_comes_before_numbers(phone: Phone) -> None:
    codes = phone.ask()
    phone.text(codes["Yes"], OptOutType="STOP")
    assert phone.asked.answer is None
    assert phone.messages[-1].kind == "keyword"
    assert phone.messages[-1].reason == "keyword"
    phone.text("STOP")
    assert phone.messages[-1].reason == "keyword"
    assert len(phone.choices.open) == 1


def test_tell_the_team_that_i_am_late_by_sms_is_one_question_one_yes_and_one_post(
    phone: Phone,
) -> None:
    world, alice = phone.world, phone.messages[0].sender
    ann = person("usr_ann", "Ann")
    world.known(ann)
    world.chat(alice, ann, bot(), chat_id="chat_team", title="Team", respond="mention")
    world.model.script.extend([says("Alice is late", chat_id="chat_team"), "I asked you."])

    phone.text("Tell the team that I am late")

    [question] = [body for body in world.sms.bodies if "reply" in body]
    assert 'Post in "Team" (' in question
    assert world.texts("chat_team") == []
    runs = len(phone.runs)

    phone.text(dict(REPLY.findall(question))["Yes"])

    [post] = world.messages("chat_team")
    assert (post.text, post.sender.ref) == ("Alice is late", alice.ref)
    phone.text("Yes", sid=phone.newest)
    assert len(world.messages("chat_team")) == 1
    assert len(phone.runs) == runs


# ---------------------------------------------------------------------- wrong and late numbers


def test_wrong_number_gets_one_sentence_and_starts_no_run(phone: Phone) -> None:
    codes, before = phone.ask(), len(phone.runs)
    seq = len(phone.messages)
    phone.text(wrong(codes))
    assert phone.said(seq) == [("keyword", wrong(codes)), ("notice", WRONG)]
    assert phone.messages[seq].reason == "wrong_code"
    assert phone.world.sms.bodies[-1] == WRONG
    assert len(phone.runs) == before
    assert phone.choices.wrong_codes == 1


def test_redelivered_wrong_number_counts_once(phone: Phone) -> None:
    codes = phone.ask()
    phone.text(wrong(codes))
    before = phone.messages
    phone.text(wrong(codes), sid=phone.newest)
    assert phone.messages == before
    assert phone.choices.wrong_codes == 1


def test_five_wrong_numbers_close_answers_by_sms_for_a_day(phone: Phone) -> None:
    codes = phone.ask()
    before = len(phone.runs)
    for number in range(5):
        phone.text(wrong(codes, number))
    assert [message.text for message in phone.messages if message.kind == "notice"] == [
        *[WRONG] * 4,
        CLOSED,
    ]

    phone.text(codes["Yes"])

    assert phone.asked.answer is None
    assert phone.messages[-1].text == CLOSED
    assert len(phone.runs) == before
    given = GivenAnswer(
        tenant=TENANT,
        chat_id=phone.chat_id,
        person_id=phone.user_id,
        seq=next(message.seq for message in phone.messages if message.choice is not None),
        option=YES,
        client_id="app",
    )
    phone.world.app.get(Answering).answer_in_app(given)
    assert phone.asked.answer is not None


def test_answers_by_sms_work_again_after_a_day(phone: Phone) -> None:
    codes = phone.ask()
    for number in range(5):
        phone.text(wrong(codes, number))
    phone.world.clock.advance(DAY.total_seconds())
    codes = phone.ask(client_id="ask-2")
    phone.text(codes["Yes"])
    assert phone.asked.answer is not None


def test_right_number_after_four_wrong_ones_counts_from_zero(phone: Phone) -> None:
    codes = phone.ask()
    for number in range(4):
        phone.text(wrong(codes, number))
    phone.text(codes["Yes"])
    assert phone.asked.answer is not None
    assert phone.choices.wrong_codes == 0


def test_wrong_numbers_at_once_are_five_tries_in_all(phone: Phone) -> None:
    codes = phone.ask()
    events = [
        SMS.but(MessageSid=f"SM{100 + number:032d}", Body=wrong(codes, number)).signed()
        for number in range(12)
    ]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda event: invoke(sms_webhook, phone.world, event), events))
    reasons = [message.reason for message in phone.messages if message.kind == "keyword"]
    assert reasons.count(Reason.WRONG_CODE) == 4
    assert reasons.count(Reason.SMS_ANSWERS_CLOSED) == 8


def test_right_number_that_was_matched_before_the_fifth_wrong_one_does_not_count(
    phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = phone.ask()
    for number in range(4):
        phone.text(wrong(codes, number))
    match, late = SmsAnswers.match, iter([True])

    def match_late(*args: Any, **named: Any) -> CodeMatch | Unsure | None:
        found = match(*args, **named)
        if isinstance(found, MatchedAnswer) and next(late, False):
            phone.text(wrong(codes, 4))
        return found

    monkeypatch.setattr(SmsAnswers, "match", match_late)
    phone.text(codes["Yes"])
    assert phone.asked.answer is None
    assert phone.messages[-1].text == CLOSED


def test_number_of_expired_question_gets_expiry_notice(phone: Phone) -> None:
    codes = phone.ask()
    phone.world.clock.advance(DAY.total_seconds() - 1)
    phone.world.clock.advance(2)
    seq, before = len(phone.messages), len(phone.runs)
    phone.text(f"Yes {codes['Yes']}")
    assert phone.said(seq) == [("keyword", f"Yes {codes['Yes']}"), ("notice", OVER)]
    assert phone.messages[seq].reason == "choice_over"
    assert len(phone.runs) == before
    assert phone.choices.wrong_codes == 0


def test_code_of_an_answered_question_gets_a_notice(phone: Phone) -> None:
    codes = phone.ask()
    phone.text(codes["Yes"])
    seq = len(phone.messages)
    phone.text(codes["No"])
    assert phone.said(seq) == [("keyword", codes["No"]), ("notice", OVER)]
    assert phone.asked.answer is not None
    assert phone.asked.answer.option == YES


def test_six_digits_of_a_person_who_was_never_asked_are_an_ordinary_message(phone: Phone) -> None:
    before = len(phone.runs)
    phone.text("482113")
    assert (phone.messages[-2].kind, phone.messages[-2].text) == ("text", "482113")
    assert len(phone.runs) == before + 1


def test_six_digits_a_day_after_the_last_question_are_an_ordinary_message(phone: Phone) -> None:
    codes = phone.ask()
    phone.text(codes["Yes"])
    phone.world.clock.advance(DAY.total_seconds() - 60)
    phone.text(wrong(codes))
    assert phone.messages[-1].text == WRONG
    phone.world.clock.advance(61)
    phone.text(wrong(codes))
    assert phone.messages[-2].kind == "text"


def test_answer_over_the_limit_counts_and_starts_its_run(limited: Phone) -> None:
    codes = limited.ask()
    now = limited.world.clock.now()
    for _ in range(12):
        limited.text("Hello?")
        limited.world.clock.set(now)
    before = len(limited.runs)
    limited.text(codes["Yes"])
    assert limited.asked.answer is not None
    assert limited.messages[-1].reason is None
    assert len(limited.runs) == before + 1


def test_answer_that_reaches_the_limit_causes_no_notice(limited: Phone) -> None:
    codes = limited.ask()
    now = limited.world.clock.now()
    for _ in range(limited.world.settings.user_messages_per_minute):
        limited.text("Hello?")
        limited.world.clock.set(now)
    notices = [message.text for message in limited.messages if message.kind == "notice"]
    limited.text(codes["Yes"])
    assert limited.asked.answer is not None
    assert [each.text for each in limited.messages if each.kind == "notice"] == notices


def test_wrong_number_over_the_limit_gets_one_notice_in_all(phone: Phone) -> None:
    codes = phone.ask()
    for number in range(30):
        phone.text(wrong(codes, number))
    notices = [message.text for message in phone.messages if message.kind == "notice"]
    assert notices.count(WRONG) == 4
    assert len(notices) < 25


# ---------------------------------------------------------------------- redelivery, other lines


def test_redelivered_answer_is_one_answer_without_a_sentence(phone: Phone) -> None:
    codes = phone.ask()
    phone.text(codes["Yes"])
    before, runs = phone.messages, len(phone.runs)
    for _ in range(2):
        phone.text(codes["Yes"], sid=phone.newest)
    assert phone.messages == before
    assert len(phone.runs) == runs


def other_line(phone: Phone) -> None:
    phone.world.agent("agt_b", "Banker")
    phone.world.line("agt_b", SECOND_LINE)


@pytest.mark.parametrize("known", [False, True])
def test_number_on_another_line_answers_in_the_chat_of_the_question(
    phone: Phone, known: bool
) -> None:
    other_line(phone)
    if known:
        phone.text("Hi bank", To=SECOND_LINE)
    codes, runs = phone.ask(), len(phone.runs)
    there = len(phone.world.messages(phone.chat_on(SECOND_LINE))) if known else 0
    phone.world.model.script.append("Booked.")

    phone.text(codes["Yes"], To=SECOND_LINE)

    question, answer, said = phone.messages[-3:]
    assert (answer.text, answer.reply_to, said.text) == ("Yes", question.seq, "Booked.")
    assert len(phone.runs) == runs + 1
    sms, _ = phone.world.sms.taken[-1]
    assert (sms.line, sms.body) == (LINE, "Booked.")
    if known:
        assert len(phone.world.messages(phone.chat_on(SECOND_LINE))) == there

    before = phone.messages
    phone.text(codes["Yes"], sid=phone.newest, To=SECOND_LINE)
    assert phone.messages == before
    if known:
        assert len(phone.world.messages(phone.chat_on(SECOND_LINE))) == there


def test_late_code_on_another_line_gets_one_notice_there(phone: Phone) -> None:
    other_line(phone)
    codes = phone.ask()
    phone.text(codes["Yes"])
    before = phone.messages
    for sid in (None, phone.newest + 1):
        phone.text(codes["No"], sid=sid, To=SECOND_LINE)
    texts = phone.world.texts(phone.chat_on(SECOND_LINE))
    assert texts == [codes["No"], OVER]
    assert phone.messages == before


def test_number_for_a_discarded_chat_is_over(phone: Phone) -> None:
    other_line(phone)
    codes = phone.ask()
    person_ref = person(phone.user_id).ref
    phone.world.app.chat_admin.discard(TENANT, phone.chat_id, person_ref)
    phone.text(codes["Yes"], To=SECOND_LINE)
    assert phone.world.texts(phone.chat_on(SECOND_LINE)) == [codes["Yes"], OVER]


def test_code_from_another_persons_phone_answers_no_question(phone: Phone) -> None:
    codes = phone.ask()
    key = AddressOwner.key_of(TENANT, phone_address(PHONE))
    phone.text(codes["Yes"], From="+15005550111")
    assert phone.asked.answer is None
    phone.world.table.write(Update(key, set={"user_id": "usr_other"}))
    phone.text(codes["Yes"])
    assert phone.asked.answer is None


# ---------------------------------------------------------------------- nobody else sees codes


def test_codes_are_in_the_sms_only(phone: Phone, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    world = phone.world
    codes = phone.ask()
    words = phone.ask(client_id="ask-2", question="Which color?", options=())
    phone.text("What do you need?")
    phone.text(f"{words[WORDS]} Blue")
    phone.text(f"Yes {codes['Yes']}")
    secrets = [*codes.values(), *words.values()]
    assert len(secrets) == 3

    def search(where: str, what: Any) -> None:
        text = what if isinstance(what, str) else json.dumps(what, default=str)
        assert [code for code in secrets if code in text] == [], where

    for request in world.model.requests:
        search("prompt", repr(request))
    for message in phone.messages:
        search("message", message.attributes())
    for record in caplog.records:
        search("log", repr(vars(record)))
    operator = Client(world, admin_api, sub="usr_op", scope="admin")
    own = Client(world, mobile_api, sub=phone.user_id)
    here = f"/v1/chats/{phone.chat_id}"
    seqs = [message.seq for message in phone.messages]
    for path in (
        *(f"{here}/messages/{seq}/reasons" for seq in seqs),
        f"/v1/users/{phone.user_id}/export",
        *(f"/v1/runs/{run.id}" for run in phone.runs),
    ):
        answer = operator.call("GET", path)
        assert answer.status == 200, path
        search(path, answer.body)
    transcript = operator.call("GET", f"/v1/transcripts/{phone.chat_id}?reason=test")
    search("transcript", transcript.body)
    for path in (here, f"{here}/messages", "/v1/chats", "/v1/me"):
        answer = own.call("GET", path)
        assert answer.status == 200, path
        search(path, answer.body)
    kept = [key for key, item in world.table.all_items().items() if _has(item, secrets)]
    kinds = {sk.partition("#")[0] for _, sk in kept}
    assert kinds == {"CHOICES", "DELIVERY"}


def _has(item: Any, secrets: list[str]) -> bool:
    return any(code in json.dumps(item, default=str) for code in secrets)


def test_invitation_by_sms_is_announced_then_asked_and_a_yes_joins(phone: Phone) -> None:
    world, invited = phone.world, phone.user_id
    phone.text("START")
    ann = person("usr_ann", "Ann")
    world.known(ann)
    world.chat(ann, bot(), chat_id="chat_team", title="Team", respond="mention")
    team = Client(world, sub=ann.id, claims={"name": ann.name})

    added = team.put(f"/v1/chats/chat_team/members/user/{invited}")
    assert (added.status, added.body["members"][-1]["state"]) == (200, "invited")
    world.drain()

    announced = world.sms.bodies[-1]
    assert announced.startswith("Somebody with whom you share no chat invites you to a group.")
    phone.text(*re.findall(r"Reply (\d+) to see who", announced))
    [question] = [body for body in world.sms.bodies if "reply" in body]
    assert 'Ann invites you to "Team" (Ann and Coach). Join?' in question
    runs = len(phone.runs)
    phone.text(dict(REPLY.findall(question))["Yes"])

    assert world.stored_chat("chat_team").person_ids == (ann.id, invited)
    assert len(phone.runs) == runs
    assert phone.choices.open == ()


# ---------------------------------------------------------------------- forgetting


def test_yes_by_sms_forgets_the_messages_of_the_question(phone: Phone) -> None:
    phone.text("My PIN is 4711 4711")
    said = phone.messages[-2]
    assert said.text == "My PIN is 4711 4711"
    forgotten = ForgottenMessage(chat_id=phone.chat_id, seq=said.seq)
    data = ForgettingData(forgets=(forgotten,)).attributes()
    codes = phone.ask(purpose="forgetting", question="Forget it?", data=data)
    phone.text(codes["Yes"])
    assert said.text not in phone.world.texts(phone.chat_id)
