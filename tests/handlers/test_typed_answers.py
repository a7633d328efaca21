"""A typed yes or no: when it answers a question, and when Skein repeats the question instead."""

from typing import Any

import pytest

from skein.models.chats.chat import Message
from skein.models.chats.person_choices import MAX_OPEN
from skein.models.common.reason import Reason
from skein.services.choices.typed_answers import TypedAnswers
from tests.support.agents import stage
from tests.support.api_client import Client
from tests.support.builders import LINE, PHONE, World
from tests.support.choices import AHMAD, COACH, HUSAM, answer, ask, choice_in, choices_of
from tests.support.fakes import calls
from tests.support.own_tools import BOOK, own_tool
from tests.support.sms_choices import Phone, ready_phone
from tests.support.webhooks import signed_world

MESSAGES = "/v1/chats/chat_1/messages"
READ = "/v1/chats/chat_1/read"
BOOKS = calls(("book_table", {"day": "Thursday", "seats": 2}))
WHATSAPP: dict[str, Any] = {"From": f"whatsapp:{PHONE}", "To": f"whatsapp:{LINE}"}


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, AHMAD, COACH, respond="manual")
    return world


def typed(client: Client, text: str = "Yes please", client_id: str = "typed", **fields: Any) -> Any:
    return client.post(MESSAGES, {"text": text, "client_id": client_id} | fields)


def seen(client: Client, seq: int) -> None:
    assert client.post(READ, {"seq": seq}).status == 200


def last(world: World, chat_id: str = "chat_1") -> Message:
    return world.messages(chat_id)[-1]


# ---------------------------------------------------------------------- in the app


@pytest.mark.parametrize(("text", "option"), [("Yes please", "yes"), ("no, thanks!", "no")])
def test_typed_answer_to_the_newest_question_counts(
    world: World, husam: Client, text: str, option: str
) -> None:
    ask(world)
    seen(husam, 1)
    posted = typed(husam, text)
    assert (posted.status, posted.body["text"], posted.body["reply_to"]) == (201, text, 1)
    given = choice_in(world, 1).answer
    assert given is not None
    assert (given.option, given.seq) == (option, 2)
    again = typed(husam, text)
    assert (again.status, again.body) == (200, posted.body)
    assert len(world.messages("chat_1")) == 2


def test_typed_answer_to_a_question_that_was_not_seen_is_ordinary(
    world: World, husam: Client
) -> None:
    ask(world)
    typed(husam)
    assert choice_in(world, 1).answer is None
    assert last(world).kind == "text"


def test_typed_answer_after_another_persons_message_is_ordinary(
    world: World, husam: Client, ahmad: Client
) -> None:
    ask(world)
    typed(ahmad, "Lunch?", "lunch")
    seen(husam, 2)
    typed(husam)
    assert choice_in(world, 1).answer is None
    assert [each.kind for each in world.messages("chat_1")] == ["choice", "text", "text"]


def test_typed_answer_of_another_person_does_not_answer_the_question(
    world: World, ahmad: Client
) -> None:
    ask(world)
    seen(ahmad, 1)
    typed(ahmad)
    assert choice_in(world, 1).answer is None


def test_typed_answer_with_two_open_questions_is_ordinary(world: World, husam: Client) -> None:
    ask(world)
    ask(world, client_id="ask-2")
    seen(husam, 2)
    typed(husam)
    assert [choice_in(world, seq).answer for seq in (1, 2)] == [None, None]


@pytest.mark.parametrize(
    "labels", [("Tuesday", "Friday"), ("Yes", "No", "Later"), ("Yes", "Yes please", "No")]
)
def test_typed_answer_to_other_options_is_ordinary(
    world: World, husam: Client, labels: tuple[str, ...]
) -> None:
    ask(world, options=[{"id": f"o{n}", "label": label} for n, label in enumerate(labels)])
    seen(husam, 1)
    typed(husam)
    assert choice_in(world, 1).answer is None


def test_typed_answer_as_a_reply_to_another_message_is_ordinary(
    world: World, husam: Client, ahmad: Client
) -> None:
    typed(ahmad, "Lunch?", "lunch")
    ask(world)
    seen(husam, 2)
    typed(husam, reply_to=1)
    assert choice_in(world, 2).answer is None


def test_message_that_comes_between_makes_a_typed_answer_ordinary(
    world: World, husam: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction that stores the answer checks that the question is still the newest."""
    ask(world)
    seen(husam, 1)
    match = TypedAnswers._in_app

    def late(self: TypedAnswers, new: Any) -> Any:
        found = match(self, new)
        world.post("Lunch?", AHMAD)
        return found

    monkeypatch.setattr(TypedAnswers, "_in_app", late)
    posted = typed(husam)
    assert (posted.status, last(world).kind) == (201, "text")
    assert choice_in(world, 1).answer is None


# ---------------------------------------------------------------------- the repetition


def booking() -> tuple[World, Client]:
    """The agent has asked Husam whether to book, and has asked for the answer in words, too."""
    world = stage(
        BOOKS, "Please confirm.", "Booked!", reply_mode="text", enabled_tools=("book_table",)
    )
    own_tool(world, BOOK, approval="person")
    world.chat(HUSAM, COACH, kind="direct", visibility="private", title=None)
    world.post("Book a table for two on Thursday", HUSAM)
    world.drain()
    return world, Client(world)


def test_typed_answer_after_the_words_of_the_asking_run_repeats_the_question() -> None:
    world, husam = booking()
    assert [each.kind for each in world.messages("chat_1")] == ["text", "choice", "text"]
    posted = typed(husam)
    world.drain()
    *_, said, again = world.messages("chat_1")
    assert (said.seq, said.runs, said.reason) == (posted.body["seq"], {}, Reason.TYPED_ANSWER)
    assert again.choice is not None
    assert (again.choice.repeats, again.choice.question) == (2, choice_in(world, 2).question)
    assert len(world.runs("chat_1")) == 1
    typed(husam)
    assert len(world.messages("chat_1")) == said.seq + 1


def test_typed_answer_to_the_repetition_books_once() -> None:
    world, husam = booking()
    typed(husam)
    seen(husam, last(world).seq)
    typed(husam, client_id="typed-2")
    world.drain()
    assert len(world.service.requests) == 1
    assert choice_in(world, 2).answer == choice_in(world, 5).answer is not None
    assert choices_of(world).open == ()
    assert last(world).text == "Booked!"


def test_question_that_gives_its_place_ends_with_its_repetition() -> None:
    world, husam = booking()
    typed(husam)
    world.drain()
    for number in range(MAX_OPEN):
        ask(world, client_id=f"ask-{number}")
    now = world.clock.now()
    assert [choice_in(world, seq).status(now) for seq in (2, 5)] == ["expired", "expired"]
    assert [choice.repeated_seq for choice in choices_of(world).open] == [None] * MAX_OPEN


def test_repetition_is_stored_in_attributes_that_older_code_ignores() -> None:
    world, husam = booking()
    typed(husam)
    stored = world.table.get(last(world).key)
    assert stored is not None
    assert (stored["repeats"], "repeats" in stored["choice"]) == (2, False)
    listed = world.table.get(choices_of(world).key)
    assert listed is not None
    assert listed["repeated"] == {"chat_1#2": 5}
    assert all("repeated_seq" not in one for one in listed["open"])


@pytest.mark.parametrize("seq", [2, 5])
def test_press_on_the_question_or_the_repetition_counts_once(seq: int) -> None:
    world, husam = booking()
    typed(husam)
    answer(world, seq)
    choice = {"seq": 7 - seq, "option": "yes"}
    assert husam.post(MESSAGES, {"choice": choice, "client_id": "late"}).status == 409
    world.drain()
    assert len(world.service.requests) == 1


def test_question_is_repeated_once() -> None:
    world, husam = booking()
    typed(husam)
    world.post("Wait", HUSAM)
    typed(husam, client_id="typed-2")
    assert [each.seq for each in world.messages("chat_1") if each.choice is not None] == [2, 5]


def test_repetition_that_a_crash_prevented_is_posted_with_the_repeated_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, husam = booking()
    with monkeypatch.context() as patched:
        patched.setattr(TypedAnswers, "repeat", lambda *_: None)
        typed(husam)
    assert last(world).choice is None
    assert typed(husam).status == 200
    assert last(world).choice is not None


def test_question_is_not_repeated_to_somebody_who_joined_since() -> None:
    world = World()
    world.agent()
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, COACH, respond="manual")
    ask(world, run_id="run_asking")
    world.add(AHMAD)
    world.post("Please confirm", COACH, run_id="run_asking")
    typed(Client(world))
    assert last(world).kind == "text"


def test_question_is_not_repeated_to_somebody_who_joins_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.agent()
    world.known(HUSAM, AHMAD)
    world.chat(HUSAM, COACH, respond="manual")
    ask(world, run_id="run_asking")
    world.post("Please confirm", COACH, run_id="run_asking")
    repeat = TypedAnswers.repeat

    def late(self: TypedAnswers, message: Message) -> None:
        world.add(AHMAD)
        repeat(self, message)

    monkeypatch.setattr(TypedAnswers, "repeat", late)
    typed(Client(world))
    assert [each.seq for each in world.messages("chat_1") if each.kind == "choice"] == [1]


# ---------------------------------------------------------------------- on phones


def test_typed_answer_by_sms_repeats_the_question_with_its_numbers() -> None:
    phone = ready_phone()
    codes = phone.ask()
    phone.text("Yes please")
    assert phone.asked.repeats == phone.messages[-3].seq
    assert phone.world.sms.bodies[-1].endswith(
        f"Yes: reply {codes['Yes']}. No: reply {codes['No']}."
    )
    assert phone.messages[-2].reason == Reason.TYPED_ANSWER
    phone.text(codes["Yes"])
    assert phone.asked.answer is not None
    assert phone.choices.open == ()


def test_second_typed_answer_by_sms_is_ordinary() -> None:
    phone = ready_phone()
    phone.ask()
    phone.text("yes")
    runs = len(phone.runs)
    phone.text("yes")
    assert len(phone.runs) == runs + 1
    assert phone.asked.answer is None


def test_sms_with_a_typed_answer_that_is_delivered_again_repeats_nothing() -> None:
    phone = ready_phone()
    phone.ask()
    phone.text("yes")
    count = len(phone.messages)
    phone.text("yes", sid=phone.newest)
    assert len(phone.messages) == count


@pytest.fixture
def whatsapp() -> Phone:
    """A person who writes by WhatsApp, and was asked there."""
    world = signed_world()
    world.line(channels=("sms", "whatsapp"))
    phone = Phone(world)
    phone.text("Hi", **WHATSAPP)
    phone.ask()
    return phone


def test_typed_answer_by_whatsapp_to_the_newest_question_counts(whatsapp: Phone) -> None:
    whatsapp.text("Yes please", **WHATSAPP)
    assert whatsapp.asked.answer is not None
    assert whatsapp.choices.open == ()


def test_typed_reply_by_whatsapp_to_the_question_counts_after_other_messages(
    whatsapp: Phone,
) -> None:
    question = next(each for each in whatsapp.messages if each.choice is not None)
    delivery = whatsapp.world.deliveries(whatsapp.chat_id)[-1]
    [sid] = delivery.parts[-1].sids
    whatsapp.text("What do you mean?", **WHATSAPP)
    whatsapp.text("Yes", OriginalRepliedMessageSid="SM" + 32 * "9", **WHATSAPP)
    assert whatsapp.asked.answer is None
    whatsapp.text("Yes", OriginalRepliedMessageSid=sid, **WHATSAPP)
    assert whatsapp.asked.answer is not None
    assert whatsapp.messages[-2].reply_to == question.seq


def test_typed_answer_from_an_unproven_number_is_ordinary(whatsapp: Phone) -> None:
    whatsapp.world.clock.advance(200 * 86_400)
    whatsapp.ask(client_id="ask-2", deliver=False)
    whatsapp.text("Yes", **WHATSAPP)
    questions = [each.choice for each in whatsapp.messages if each.choice is not None]
    assert all(choice.answer is None for choice in questions)
    assert all(choice.repeats is None for choice in questions)
