"""A person is erased: nothing that is theirs is left anywhere, and nothing else is lost.

Marked words, an id, a name and a number are planted everywhere through the real doors. Then the
whole table is looked through, keys and packed prompts included.
"""

from typing import Any

import pytest

from skein.errors import Conflict, NotFound
from skein.models.api.chats import NewChat
from skein.models.chats.borrowed import BorrowedContext, BorrowedMessage
from skein.models.chats.origin import Origin
from skein.models.common.base import MemberRef
from skein.models.common.storage import Put
from skein.models.delivery.sms import InboundSms
from skein.models.outbox.jobs import ErasureJob
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import OPEN as EVERYONE
from skein.privacy.models.erasure import Erasure
from tests.support.agents import COACH, asked_by_service, stored
from tests.support.api_client import operator
from tests.support.builders import LINE, TENANT, World
from tests.support.choices import answer, ask
from tests.support.erasure import (
    BEN,
    BENS,
    ELSEWHERE,
    MARK,
    NUMBER,
    OPEN,
    PRIVATE,
    ZOE,
    end,
    erase,
    group,
    plant,
    settle,
    text,
    traces,
    world_of,
)
from tests.support.fakes import calls, says
from tests.support.number_codes import link_number
from tests.support.own_tools import BOOK, own_tool


@pytest.fixture
def planted() -> World:
    return plant()


def test_erasure_after_sms_exchange_leaves_no_traces() -> None:
    world = world_of(says(f"Noted: {MARK}, Zoë Quill"), f"{MARK}!")
    chat_id = text(world, f"I love {MARK}")
    settle(world)
    assert world.sms.taken
    assert traces(world)
    erasure = erase(world)
    assert traces(world) == {}
    kinds = [message.kind for message in world.messages(chat_id)]
    assert kinds == ["erased"] * world.stored_chat(chat_id).last_seq
    assert erasure.sweeps[0].counts["messages"] == len(kinds)


def test_records_of_calls_to_services_are_erased() -> None:
    world = world_of(calls(("book_table", {"day": MARK})), "Booked.")
    world.agent(COACH.id, COACH.name, reply_mode="text", enabled_tools=("book_table",))
    own_tool(world, BOOK)
    world.chat(ZOE, COACH, kind="direct", visibility="private", title=None)
    world.post(f"Book {MARK}", ZOE)
    settle(world)
    assert len(world.service.requests) == 1
    assert [key for key in world.table.all_items() if key.sk.startswith("CALL#")]
    erase(world)
    assert traces(world) == {}
    assert not [key for key in world.table.all_items() if key.sk.startswith("CALL#")]


def test_questions_to_the_person_and_their_answers_are_erased() -> None:
    world = world_of()
    world.chat(ZOE, BEN, COACH)
    ask(world, ZOE, question=f"Do you like {MARK}?")
    answer(world, 1, ZOE)
    ask(world, ZOE, client_id="ask-2")
    ask(world, BEN, client_id="ask-3")
    erase(world)
    assert traces(world) == {}
    assert [message.kind for message in world.messages()] == [
        "erased",
        "erased",
        "erased",
        "choice",
    ]


def test_planted_world_has_traces_in_every_kind_of_item(planted: World) -> None:
    places = {key.split("sk='")[1].split("#")[0].strip("')") for key in traces(planted)}
    assert places >= {"META", "MEMBER", "MSG", "DEDUPE", "RUN", "DELIVERY", "GOAL", "FACT"}
    assert planted.memories()
    assert planted.memories(scope=f"chat:{PRIVATE}")
    assert planted.memories(scope=f"user:{ZOE.id}")


def test_an_erased_person_is_found_nowhere(planted: World) -> None:
    erasure = erase(planted)
    assert traces(planted) == {}
    assert erasure.finished_at is not None
    assert len(erasure.sweeps) >= 2
    assert planted.app.erasures.get(TENANT, erasure.id) == erasure


@pytest.mark.parametrize("chat_id", [PRIVATE, BENS])
def test_prompt_of_service_run_in_chat_is_erased(chat_id: str) -> None:
    """Such a run lies beside its agent; in Ben's chat it reads the group that he shares."""
    world = world_of()
    group(world, PRIVATE, ZOE, BEN, visibility="private")
    world.chat(BEN, COACH, chat_id=BENS, kind="direct", visibility="private")
    world.post(f"I love {MARK}", ZOE, chat_id=PRIVATE)
    chat = world.stored_chat(chat_id)
    run = asked_by_service(world, trigger=Trigger(type="service"), chat=chat)
    world.model.script.append(calls(("read_messages", {"chat_id": PRIVATE})))
    settle(world)
    assert any(run.key.sk in place for place in traces(world))
    erase(world)
    assert traces(world) == {}


def test_paused_run_of_a_plan_that_the_person_set_never_starts() -> None:
    plan = {"name": f"{MARK}-plan", "instruction": f"Buy {MARK}", "run_after": "1 hour"}
    world = world_of(calls(("set_plan", plan), "end_run"))
    group(world, PRIVATE, ZOE, BEN, visibility="private")
    world.post(f"@Coach remember {MARK}", ZOE, chat_id=PRIVATE)
    settle(world)
    operator(world).put("/v1/pauses/runs", {})
    chat = world.stored_chat(PRIVATE)
    service = asked_by_service(world, trigger=Trigger(type="service"), chat=chat)
    world.clock.advance(3_700)
    world.tick()
    settle(world)
    asked = len(world.model.requests)
    erase(world)
    assert traces(world) == {}
    operator(world).delete("/v1/pauses/runs")
    world.clock.advance(1_000)
    world.tick()
    settle(world)
    assert MARK not in str(world.model.requests[asked:])
    assert stored(world, service).ended


def test_item_that_refers_to_the_person_only_by_id_is_erased() -> None:
    """They asked, or wrote, in a chat that no longer exists, under a name of that time."""
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    group(world, ELSEWHERE, ZOE, BEN)
    for chat_id, ref in ((OPEN, ZOE.ref), (ELSEWHERE, BEN.ref)):
        origin = Origin(
            chat_id="chat_gone",
            chat_title="Gone",
            asked_by="Caller",
            asker=ref,
            text="Say hello",
            audience=EVERYONE,
        )
        world.post("Hello", COACH, chat_id=chat_id, origin=origin)
        staged = BorrowedContext(
            tenant=TENANT,
            chat_id=chat_id,
            agent_id=COACH.id,
            staging="run_1:1:1",
            source_chat_id="chat_gone",
            source_title="Gone",
            messages=(BorrowedMessage(seq=1, author="Caller", sender=ref, text="Hello"),),
            audience=EVERYONE,
            last_message_at=world.clock.now(),
            created_at=world.clock.now(),
        )
        world.table.write(Put(staged.key, staged.to_item()))
    erase(world)
    assert traces(world) == {}
    kept = [world.messages(chat_id)[-1].origin for chat_id in (OPEN, ELSEWHERE)]
    assert [origin is not None for origin in kept] == [False, True]
    keys = [BorrowedContext.key_of(TENANT, chat_id, COACH.id) for chat_id in (OPEN, ELSEWHERE)]
    assert list(world.table.get_many(keys)) == keys[1:]


def test_erasure_keeps_messages_of_others_and_dense_numbers(planted: World) -> None:
    before = {chat_id: planted.messages(chat_id) for chat_id in (OPEN, PRIVATE, ELSEWHERE, BENS)}
    erase(planted)
    for chat_id, messages in before.items():
        after = planted.messages(chat_id)
        assert [m.seq for m in after[: len(messages)]] == [m.seq for m in messages]
        assert [m.id for m in after[: len(messages)]] == [m.id for m in messages]
        kept = {m.seq: m.text for m in after}
        for message in messages:
            if message.sender.ref == BEN.ref:
                assert kept[message.seq] == message.text


def test_erasure_keeps_usage_and_times_of_runs(planted: World) -> None:
    before = {run.id: run for run in planted.runs(OPEN)}
    assert before
    erase(planted)
    for run in planted.runs(OPEN):
        if run.id in before:
            was = before[run.id]
            assert (run.usage, run.created_at, run.ended_at) == (
                was.usage,
                was.created_at,
                was.ended_at,
            )
            assert run.steps_taken == was.steps_taken


def test_erasure_renews_summaries_and_memories_from_the_rest(planted: World) -> None:
    erase(planted)
    asked = len(planted.model.memory_requests)
    for _ in range(3):
        planted.clock.advance(400)
        planted.tick()
        settle(planted)
    planted.hours_pass(8)
    newest = planted.consolidations(OPEN)[-1]
    assert (newest.from_seq, newest.failure) == (1, None)
    membership, chat = planted.membership(COACH, OPEN), planted.stored_chat(OPEN)
    assert membership.consolidated_seq == chat.last_seq
    assert membership.summary is not None
    assert membership.summary.text.startswith("nothing of note")
    assert any(
        "Good morning" in message.content
        for request in planted.model.memory_requests[asked:]
        for message in request.messages
    )
    assert traces(planted) == {}


def test_repeated_erasure_request_is_one_erasure_and_then_not_found(planted: World) -> None:
    first = planted.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    assert planted.app.erasures.request(TENANT, ZOE.id, by="usr_op").id == first.id
    settle(planted)
    assert planted.app.erasures.request(TENANT, ZOE.id, by="usr_op").id == first.id
    end(planted, first)
    with pytest.raises(NotFound):
        planted.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    with pytest.raises(NotFound):
        planted.app.erasures.get(TENANT, "era_none")


def test_number_of_an_erased_person_leads_to_a_new_caller(planted: World) -> None:
    before = {chat.chat_id for chat in planted.deliveries(OPEN)}
    erasure = planted.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    chat_id = text(planted, "Hello again", sid="SM9")
    assert chat_id not in before
    settle(planted)
    end(planted, erasure)
    [said] = [m for m in planted.messages(chat_id) if m.sender.kind == "user"]
    assert (said.text, said.sender.name) == ("Hello again", "Caller 0177")
    assert text(planted, "And again", sid="SM10") == chat_id


def test_erasure_deletes_client_ids_of_opened_chats(planted: World) -> None:
    for client_id in ("mine", "\u00fcber uns", "\U0010fffd"):
        new = NewChat(kind="group", client_id=client_id)
        assert planted.app.chat_admin.create(TENANT, ZOE, new).created
    marks = [key for key in planted.table.all_keys() if key.sk.startswith("OPENED#")]
    assert len(marks) == 3
    erase(planted)
    assert traces(planted) == {}
    assert [key for key in planted.table.all_keys() if key.sk.startswith("OPENED#")] == []


def test_person_being_erased_cannot_be_added_to_a_chat(planted: World) -> None:
    planted.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    new = NewChat.model_validate(
        {
            "kind": "group",
            "members": [{"kind": "user", "id": ZOE.id}, {"kind": "agent", "id": COACH.id}],
        }
    )
    with pytest.raises(Conflict):
        planted.app.chat_admin.create(TENANT, BEN, new)
    with pytest.raises(NotFound):
        planted.app.users.get(TENANT, ZOE.id)
    with pytest.raises(Conflict):
        planted.add(MemberRef(kind="user", id=ZOE.id), by=BEN, chat_id=ELSEWHERE)
    with pytest.raises(NotFound):
        link_number(planted, ZOE.id, "+15005550188")


def test_erasure_covers_chats_the_person_has_left() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    world.post(f"I love {MARK}", ZOE, chat_id=OPEN)
    world.app.chat_admin.remove_member(TENANT, OPEN, ZOE.ref, ZOE.ref)
    erase(world)
    assert traces(world) == {}


def test_erasure_deletes_former_numbers_and_ids() -> None:
    world = world_of()
    text(world, f"First {MARK}")
    settle(world)
    world.app.phone_links.unlink(TENANT, ZOE.id, NUMBER)
    other = "+15005550178"
    sms = InboundSms(account_sid="AC1", message_sid="SM2", sender=other, recipient=LINE, body=MARK)
    posted = world.app.sms_receiver.receive(sms)
    assert posted is not None
    former = posted.message.sender.id
    settle(world)
    link_number(world, ZOE.id, other)
    world.clock.advance(2_000)
    world.tick()
    assert traces(world, former, "5005550178")
    erase(world)
    assert traces(world, former, "5005550178") == {}


def test_erasure_closes_chats_without_remaining_people() -> None:
    world = world_of()
    chat_id = text(world, f"I love {MARK}")
    settle(world)
    epoch = world.stored_chat(chat_id).epoch
    erase(world)
    chat = world.stored_chat(chat_id)
    assert chat.discarded_at is not None
    assert chat.epoch > epoch
    assert [member.kind for member in chat.roster] == ["agent"]


class InFlight:
    """A run whose worker was about to be answered when the erasure began."""

    def __init__(self, said: Any, *before: Any) -> None:
        self.world = world_of(*before, self._answer, calls("end_run"))
        self.said = said
        self.erasure: Erasure | None = None

    def _answer(self, request: Any) -> Any:
        """While the model thinks, the person is erased, and the first sweep comes to its end."""
        if self.erasure is None:
            self.erasure = self.world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
            for job in self.world.queues.take(ErasureJob):
                deadline = self.world.clock.now().replace(year=2027)
                self.world.app.eraser.continue_erasure(job, deadline=deadline)
            swept = self.world.app.erasures.get(TENANT, self.erasure.id)
            assert swept.stage == "resting"
        assert any(MARK in message.content for message in request.messages)
        return self.said


def test_a_run_in_flight_writes_nothing_after_the_first_sweep() -> None:
    late = InFlight(says(f"You said {MARK}"))
    text(late.world, f"I love {MARK}")
    settle(late.world)
    assert late.erasure is not None
    assert not any("#CHAT#" in key and "ERASURE" not in key for key in traces(late.world))
    end(late.world, late.erasure)
    assert traces(late.world) == {}


def test_second_sweep_replaces_words_in_late_writes_of_other_runs() -> None:
    quote = "I love ripe fruit, most of all"
    late = InFlight(
        calls(("set_goal", {"text": f"{ZOE.id}: I love ripe fruit most of all, and so on"})),
        calls(("read_messages", {"chat_id": OPEN})),
    )
    world = late.world
    group(world, OPEN, ZOE, BEN)
    group(world, ELSEWHERE, BEN)
    world.post(f"{quote} {MARK}", ZOE, chat_id=OPEN)
    world.post("@Coach look into the other chat", BEN, chat_id=ELSEWHERE)
    settle(world)
    assert late.erasure is not None
    late_ones = traces(world)
    assert any("GOAL" in key for key in late_ones)
    end(world, late.erasure)
    assert traces(world) == {}
    goals = [item for key, item in world.table.all_items().items() if key.sk.startswith("GOAL#")]
    assert [goal["text"] for goal in goals] == ["[erased]: [erased], and so on"]


def test_chat_of_an_erased_owner_has_no_owner() -> None:
    world = world_of()
    world.known(BEN)
    world.chat(ZOE, BEN, chat_id="chat_owned")
    erase(world)
    chat = world.stored_chat("chat_owned")
    assert (chat.owned, chat.owners) == (False, ())
