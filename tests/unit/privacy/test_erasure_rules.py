"""Tests of the rules of an erasure, one by one."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from skein.errands.models.errand import ErrandOrder, OrderData
from skein.memory.models.memory import Memory
from skein.models.chats.chat import Message
from skein.models.chats.choice import CALL, CONSENT, Choice, Destination, Proposal
from skein.models.chats.consent import ConsentData
from skein.models.common.base import NamedMember, Stored
from skein.models.runs.requested_call import CallData, RequestedCall
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.provenance import MANY, NO_AUTHORS, Authors, MadeFrom
from skein.planning.models.goal import Goal
from skein.planning.models.plan import Plan
from skein.privacy import erasure_rules as rules
from skein.privacy.erasure_sweep import ERASED, Sweep, SweepCounts
from skein.privacy.erasure_words import quotes_in
from skein.privacy.models.erasure import (
    REPLICATION,
    ErasedChat,
    Erasure,
    NamedTexts,
    Subject,
    SweepCount,
)
from skein.services.choices.wording import YES_NO
from skein.workspace.models.document import Document
from skein.workspace.models.thread import Thread
from tests.support.builders import NOON, TENANT, bot, person

ANN, BEN, COACH = person("usr_ann", "Ann Lee"), person("usr_ben", "Ben"), bot()
HERS, HIS = Authors.in_digests([ANN.id]), Authors.in_digests([BEN.id])
BOTH = HERS.joined(HIS)
SOURCES = Authors(ids=("tool:knowledge",))
SAID = "I never liked the blue car"
CHAT = "chat_1"
SECOND = timedelta(seconds=1)


def a_sweep(*, named_texts: NamedTexts = "keep", swept_at: datetime | None = None) -> Sweep:
    """A sweep of Ann, who has said one sentence."""
    erasure = Erasure(
        tenant=TENANT,
        id="era_1",
        user_id=ANN.id,
        requested_by="usr_op",
        requested_at=NOON,
        named_texts=named_texts,
        sweeps=(SweepCount(ended_at=swept_at),),
    )
    subject = Subject(tenant=TENANT, erasure_id="era_1", ids=(ANN.id,), names=(ANN.name, "Ann"))
    chats = {CHAT: note(private=False)}
    return Sweep(erasure, subject, chats, SweepCounts(), NOON, set(quotes_in(SAID)))


def note(**fields: Any) -> ErasedChat:
    values = {"private": True, "since": NOON, "others": (BEN.id,), "first_seq": 5} | fields
    return ErasedChat(tenant=TENANT, erasure_id="era_1", chat_id=CHAT, **values)


def said(sender: NamedMember, text: str = "Hello", authors: Authors = NO_AUTHORS) -> Message:
    return Message(
        tenant=TENANT,
        chat_id=CHAT,
        id="msg_1",
        seq=5,
        text=text,
        sender=sender,
        authors=authors,
        client_id="1",
        created_at=NOON,
    )


def made(*people: str | None, seq: int = 5) -> MadeFrom:
    return MadeFrom.messages(CHAT, seq, seq, people)


def goal(text: str = "Rest", **fields: Any) -> Goal:
    values = {"audience": OPEN, "created_at": NOON} | fields
    return Goal(tenant=TENANT, agent_id=COACH.id, id="goal_1", text=text, **values)


def memory(made_by: str = "consolidation", **fields: Any) -> Memory:
    values = {"audience": OPEN, "created_at": NOON, "kind": "core", "text": "Cars"} | fields
    return Memory.model_validate(
        {"tenant": TENANT, "agent_id": COACH.id, "id": "mem_1", "made_by": made_by} | values
    )


# ---------------------------------------------------------------------- what goes


@pytest.mark.parametrize(
    ("thing", "alone"),
    [
        (goal(made_from=made(ANN.id), authors=BOTH), True),
        (goal(made_from=made(ANN.id, BEN.id), authors=BOTH), False),
        (goal(made_from=made(BEN.id), authors=BOTH), False),
        (goal(made_from=made(None), authors=HERS), True),
        (goal(made_from=made(None), authors=BOTH), False),
        (goal(authors=HERS), True),
        (goal(authors=MANY), False),
        (goal(by_operator=True), False),
        (goal(made_from=made(ANN.id), by_operator=True), True),
    ],
)
def test_item_made_from_the_persons_words_alone(thing: Goal, *, alone: bool) -> None:
    assert rules.is_from_them_alone(a_sweep(), thing) is alone


def test_document_of_an_operator_is_never_made_from_one_persons_words_alone() -> None:
    document = Document(
        tenant=TENANT,
        agent_id=COACH.id,
        name="plan",
        audience=OPEN,
        made_from=made(ANN.id),
        by_operator=True,
        created_at=NOON,
        updated_at=NOON,
    )
    mine = document.model_copy(update={"by_operator": False})
    assert not rules.is_from_them_alone(a_sweep(), document)
    assert rules.is_from_them_alone(a_sweep(), mine)


@pytest.mark.parametrize(
    ("audience", "alone"),
    [
        (Audience(open=False, people=(ANN.id,)), True),
        (Audience(open=False, people=(ANN.id, BEN.id)), False),
        (Audience(open=False), False),
        (OPEN, False),
    ],
)
def test_item_for_the_person_alone(audience: Audience, *, alone: bool) -> None:
    assert rules.is_for_them_alone(a_sweep(), goal(audience=audience)) is alone


@pytest.mark.parametrize(
    ("message", "of", "goes"),
    [
        (said(ANN), note(), True),
        (said(BEN, "Ann Lee said so"), note(), False),
        (said(COACH, authors=HERS), note(), True),
        (said(COACH, authors=HERS), None, True),
        (said(COACH, authors=HERS.joined(SOURCES)), note(), True),
        (said(COACH, authors=SOURCES), note(), False),
        (said(COACH, authors=BOTH), note(), False),
        (said(COACH, authors=MANY), note(), False),
        (said(COACH, "Ann Lee said so"), note(), False),
        (said(COACH, authors=BOTH), note(others=()), True),
        (said(COACH, authors=BOTH), note(others=(), private=False), False),
        (said(ANN).model_copy(update={"kind": "erased"}), note(), False),
    ],
)
def test_message_of_the_person_or_made_from_their_words_alone(
    message: Message, of: ErasedChat | None, *, goes: bool
) -> None:
    assert rules.is_their_message(a_sweep(), of, message) is goes


@pytest.mark.parametrize(
    ("thing", "again"),
    [
        (memory(made_from=made(ANN.id, BEN.id)), True),
        (memory("reflection", made_from=made(ANN.id, BEN.id)), True),
        (memory("tool", made_from=made(ANN.id, BEN.id)), False),
        (memory(made_from=made(BEN.id), authors=BOTH), False),
        (memory(made_from=made(ANN.id, BEN.id), by_operator=True), False),
        (memory(made_from=MadeFrom(spans=made(seq=6).spans, writers=MANY)), True),
        (memory(made_from=MadeFrom(spans=made(seq=4).spans, writers=MANY)), False),
        (memory(made_from=made(None, seq=6)), True),
    ],
)
def test_memory_of_several_people_is_made_again(thing: Memory, *, again: bool) -> None:
    assert rules.is_made_again(a_sweep(), thing) is again


def test_memory_of_many_made_after_the_first_sweep_is_not_made_again() -> None:
    thing = memory(made_from=MadeFrom(spans=made(seq=6).spans, writers=MANY))
    assert rules.is_made_again(a_sweep(swept_at=NOON), thing)
    assert not rules.is_made_again(a_sweep(swept_at=NOON - REPLICATION - SECOND), thing)


# ---------------------------------------------------------------------- what is replaced


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (said(COACH, f'She said "{SAID}".', BOTH), 'She said "[erased]".'),
        (said(COACH, f'She said "{SAID}".', MANY), 'She said "[erased]".'),
        (said(COACH, "Ask usr_ann, Ann Lee", BOTH), "Ask [erased], Ann Lee"),
        (said(COACH, f"{SAID} usr_ann", HIS), f"{SAID} usr_ann"),
        (said(BEN, f"{SAID} usr_ann"), f"{SAID} usr_ann"),
    ],
)
def test_agents_message_that_held_their_words_loses_quotes_and_ids(
    message: Message, text: str
) -> None:
    assert rules.held_words_replaced(a_sweep(), message).text == text


def test_item_that_held_their_words_loses_quotes_and_ids_and_stored_values_stay() -> None:
    sweep = a_sweep()
    sweep.subject = sweep.subject.model_copy(update={"ids": (ANN.id, "core2", "goal_1")})
    thing = memory("tool", text=f"core2: {SAID}", authors=BOTH)
    after = rules.held_words_of_item_replaced(sweep, thing)
    assert after == thing.model_copy(update={"text": "[erased]: [erased]"})
    others = memory("tool", text=f"core2: {SAID}", authors=HIS)
    assert rules.held_words_of_item_replaced(sweep, others) == others


def test_plan_of_several_people_stays_without_the_person_who_set_it() -> None:
    plan = Plan(
        tenant=TENANT,
        agent_id=COACH.id,
        id="plan_1",
        name="Cars",
        instruction=f"Say {SAID}",
        audience=Audience(open=False, people=(ANN.id, BEN.id)),
        authors=BOTH,
        made_from=made(ANN.id, BEN.id),
        set_by=ANN.id,
        own_time=True,
        created_at=NOON,
    )
    sweep = a_sweep()
    assert not rules.item_goes(sweep, plan)
    after = rules.item_after(sweep, plan)
    assert isinstance(after, Plan)
    assert (after.instruction, after.set_by, after.own_time) == ("Say [erased]", None, False)
    assert after.audience.people == (BEN.id,)
    assert after.made_from.writers.ids == ("erased", BEN.id)
    alone = plan.model_copy(update={"made_from": MadeFrom(), "authors": NO_AUTHORS})
    assert rules.item_goes(sweep, alone)


def test_text_that_grows_beyond_its_field_is_cut() -> None:
    sweep = a_sweep(named_texts="replace")
    sweep.subject = sweep.subject.model_copy(update={"names": ("Al Li",)})
    after = rules.item_after(sweep, goal("Al Li " * 166))
    assert isinstance(after, Goal)
    assert len(after.text) <= 1_000
    assert "Al Li" not in after.text


def test_document_names_of_a_thread_that_grow_are_cut_and_the_thread_stays_readable() -> None:
    sweep = a_sweep(named_texts="replace")
    sweep.subject = sweep.subject.model_copy(update={"names": ("Al Li",)})
    thread = Thread(
        tenant=TENANT,
        agent_id="agt_a",
        id="thr_1",
        audience=OPEN,
        concern="Cars",
        documents=("Al Li " * 33, "plan.md"),
        updated_at=NOON,
        created_at=NOON,
    )
    after = rules.item_after(sweep, thread)
    assert isinstance(after, Thread)
    assert "Al Li" not in after.documents[0]
    assert after.documents[1] == "plan.md"
    assert Thread.from_item(after.attributes()) == after


# ---------------------------------------------------------------------- full names


@pytest.mark.parametrize("by", [BEN, COACH])
def test_full_name_in_a_message_follows_the_operators_decision(by: NamedMember) -> None:
    message = said(by, "Ann Lee and the blue car")
    assert rules.message_after(a_sweep(), note(), message) == {}
    replaced = rules.message_after(a_sweep(named_texts="replace"), note(), message)
    assert replaced == {"text": "[erased] and the blue car"}
    removed = rules.message_after(a_sweep(named_texts="remove"), note(), message)
    assert (removed["kind"], removed["text"], removed["sender"]["id"]) == ("erased", "", by.id)
    assert rules.message_after(a_sweep(named_texts="remove"), None, message) == {}


def test_full_name_in_an_item_follows_the_operators_decision_but_not_in_an_operators() -> None:
    thing = goal("Help Ann Lee")
    keep, replace, remove = (a_sweep(named_texts=each) for each in ("keep", "replace", "remove"))
    assert rules.item_after(keep, thing) == thing
    assert rules.item_after(replace, thing) == goal("Help [erased]")
    assert [rules.item_goes(each, thing) for each in (keep, replace, remove)] == [
        False,
        False,
        True,
    ]
    operators = goal("Help Ann Lee", by_operator=True)
    assert rules.item_after(replace, operators) == operators
    assert not rules.item_goes(remove, operators)


READERS = Audience(open=False, people=(ANN.id, BEN.id))
BEN_READS = Audience(open=False, people=(BEN.id,))


def question(purpose: str, data: Stored) -> Message:
    """A question to Ben, who is not erased."""
    asked = Choice(
        question="Shall I?",
        options=YES_NO,
        addressee=BEN.id,
        purpose=purpose,
        data=data.attributes(),
        expires_at=NOON,
    )
    return said(bot(), authors=MANY).model_copy(update={"choice": asked})


def data_after(message: Message) -> dict[str, Any]:
    """The data of a question after the erasure of Ann."""
    after = message.attributes() | rules.message_after(a_sweep(), note(), message)
    return Choice.model_validate(after["choice"]).data


def test_question_to_another_person_loses_the_person_among_its_readers() -> None:
    call = RequestedCall(
        run_id="run_1", step=1, position=0, tool="book", version=1, readers=READERS
    )
    left = CallData.from_item(data_after(question(CALL, CallData(call=call)))).call
    assert left == call.model_copy(update={"readers": BEN_READS})


def test_proposal_to_another_person_loses_the_person_among_the_readers_of_its_chats() -> None:
    place = Destination(chat_id="chat_2", title="Tea", readers=READERS)
    proposal = Proposal(agent_id="agt_a", text="Hello", destinations=(place,))
    data = data_after(question(CONSENT, ConsentData(proposal=proposal)))
    [left] = ConsentData.from_item(data).proposal.destinations
    assert left == place.model_copy(update={"readers": BEN_READS})


def test_order_of_another_person_asks_nobody_in_place_of_the_person() -> None:
    order = ErrandOrder(
        agent_id="agt_a",
        chat_id=CHAT,
        asked_by=BEN,
        asked=(ANN, BEN),
        question="When?",
        text='Ben asks: "When?"',
        readers=READERS,
        audience=READERS,
        until=NOON,
    )
    left = OrderData.from_item(data_after(question(CONSENT, OrderData(orders=order)))).orders
    assert left.asked == (ERASED, BEN)
    assert ANN.id not in str(left)
