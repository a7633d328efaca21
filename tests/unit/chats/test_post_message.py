"""The one door by which messages enter chats."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from pydantic import ValidationError

from skein.errors import Ambiguous, Conflict, ExtraWriteFailed, NotFound, Unprocessable
from skein.models.common.address import Route
from skein.models.common.base import MemberRef, NamedMember, rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Check, Exists, Key, Update, Write
from skein.models.outbox.jobs import DeliveryJob, RunJob, UpkeepJob
from skein.services.chats.post_message import NewMessage
from skein.settings import Settings
from tests.fakes.table import MemoryTable
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.routes import sms_route

HUSAM = person()
AHMAD = person("usr_ahmad", "Ahmad")
ADDRESS = sms_route(line=LINE, phone=PHONE)


def test_message_gets_the_next_number_and_triggers_the_agent() -> None:
    world = World()
    world.chat(HUSAM, bot())

    first = world.post("Hello", HUSAM)
    second = world.post("Anyone?", HUSAM)

    assert [first.message.seq, second.message.seq] == [1, 2]
    assert world.stored_chat().last_seq == 2
    assert [run.agent_id for run in world.runs()] == ["agt_a"]
    assert [waiting.job for waiting in world.queues.waiting("turns")] == [
        RunJob(tenant=TENANT, run_id=world.runs()[0].id, agent_id="agt_a", user_id="usr_husam")
    ]


def test_the_job_waits_for_the_debounce() -> None:
    world = World(Settings(reply_debounce_seconds=3))
    world.chat(HUSAM, bot())
    world.post("Hello", HUSAM)
    [waiting] = world.queues.waiting("turns")
    assert (waiting.due_at - NOON).total_seconds() == 3


def test_the_same_client_id_is_one_message_however_late() -> None:
    world = World()
    world.chat(HUSAM, bot())
    first = world.post("Hello", HUSAM, client_id="a")
    world.post("More", HUSAM, client_id="b")
    world.clock.advance(90 * 24 * 3600)

    again = world.post("Hello?", HUSAM, client_id="a")

    assert again == (first.message, False)
    assert world.texts() == ["Hello", "More"]


def test_two_senders_may_use_the_same_client_id() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    world.post("Mine", HUSAM, client_id="1")
    assert world.post("Mine, too", AHMAD, client_id="1").created


def test_a_repetition_is_recognised_after_the_chat_was_discarded_or_left() -> None:
    world = World()
    chat = world.chat(HUSAM, AHMAD)
    first = world.post("Hello", HUSAM, client_id="a")
    world.close_membership(HUSAM)
    assert world.post("Hello", HUSAM, client_id="a") == (first.message, False)
    with pytest.raises(NotFound):
        world.post("New", HUSAM)

    second = world.post("Hi", AHMAD, client_id="b")
    world.table.write(Update(chat.key, set={"discarded_at": "2026-02-18T12:00:00.000Z"}))
    assert world.post("Hi", AHMAD, client_id="b") == (second.message, False)
    with pytest.raises(Conflict):
        world.post("New", AHMAD)


@pytest.mark.parametrize(
    ("text", "reply_to"),
    [("", None), (" \n ", None), ("x" * 20_001, None), ("\ud800", None), ("ok", 7), ("ok", 0)],
)
def test_an_unfit_message_is_refused_and_nothing_is_stored(text: str, reply_to: int | None) -> None:
    world = World()
    world.chat(HUSAM, bot())
    with pytest.raises(Unprocessable):
        world.post(text, HUSAM, reply_to=reply_to)
    assert world.messages() == []
    assert world.runs() == []


def test_reply_to_the_first_and_to_the_newest_message_is_stored() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    world.post("One", HUSAM)
    world.post("Two", HUSAM)
    world.post("To the first", AHMAD, reply_to=1)
    world.post("To the newest", AHMAD, reply_to=3)
    assert [message.reply_to for message in world.messages()] == [None, None, 1, 3]


def test_client_id_has_at_most_200_characters() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    world.post("Hello", HUSAM, client_id="x" * 200)
    with pytest.raises(ValidationError):
        world.post("Hello", HUSAM, client_id="x" * 201)


def test_message_expects_a_reply_only_if_its_sender_says_so() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    world.post("It is late", HUSAM)
    world.post("Is it?", HUSAM, expects_reply=True)
    assert [message.expects_reply for message in world.messages()] == [False, True]


@pytest.mark.parametrize(("sms", "begins"), [(ADDRESS, True), (None, False)])
def test_debounce_of_line_begins_with_sms_only(sms: Route | None, begins: bool) -> None:
    world = World(Settings(reply_debounce_seconds=2, reply_debounce_max_seconds=3))
    world.chat(HUSAM, bot(), kind="direct", route=ADDRESS)
    world.post("Hello", HUSAM, route=sms)
    assert (world.membership(bot()).burst is not None) is begins


def test_strangers_and_other_tenants_find_no_chat() -> None:
    world = World()
    world.chat(HUSAM, bot())
    with pytest.raises(NotFound):
        world.post("Hello", AHMAD)
    with pytest.raises(NotFound):
        world.post("Hello", HUSAM, chat_id="chat_other")


def test_tenants_whose_names_look_like_keys_never_meet() -> None:
    world = World()
    world.chat(HUSAM, chat_id="chat_1")
    odd = person("usr_husam#MSG", "Husam")
    world.chat(odd, chat_id="chat_1#MEMBER")
    with pytest.raises(NotFound):
        world.post("Hello", odd, chat_id="chat_1")


def test_fifty_writers_at_once_all_succeed_without_gaps() -> None:
    world = World()
    people = [person(f"usr_{n}", f"Person {n}") for n in range(50)]
    world.chat(*people, bot())
    with ThreadPoolExecutor(50) as pool:
        posted = list(pool.map(lambda who: world.post(f"from {who.id}", who), people))
    assert sorted(p.message.seq for p in posted) == list(range(1, 51))
    assert [m.seq for m in world.messages()] == list(range(1, 51))
    assert len(world.runs()) == 1
    assert world.membership(bot()).queued_run is not None


def test_the_same_message_fifty_times_at_once_is_one_message() -> None:
    world = World()
    world.chat(HUSAM, bot())
    with ThreadPoolExecutor(50) as pool:
        posted = list(pool.map(lambda _: world.post("Hi", HUSAM, client_id="x"), range(50)))
    assert len({p.message.id for p in posted}) == 1
    assert sum(p.created for p in posted) == 1
    assert world.texts() == ["Hi"]


@pytest.mark.parametrize("took_effect", [True, False])
def test_post_whose_write_gets_no_answer_is_stored_once(took_effect: bool) -> None:
    class Unclear(MemoryTable):
        answers = True

        def transact(self, writes: Sequence[Write]) -> None:
            clear, self.answers = self.answers, True
            if clear or took_effect:
                super().transact(writes)
            if not clear:
                raise Ambiguous("no answer")

    table = Unclear()
    world = World(overrides={"table": table})
    world.table = table
    world.chat(HUSAM, bot())
    table.answers = False
    posted = world.post("Hello", HUSAM)
    assert [message.id for message in world.messages()] == [posted.message.id]
    assert [run.trigger.seq for run in world.runs()] == [1]


def test_posting_moves_a_persons_own_mark_but_never_an_agents() -> None:
    world = World()
    world.chat(HUSAM, AHMAD, bot())
    world.post("One", AHMAD)
    world.post("Two", HUSAM)
    world.post("Three", bot())
    assert world.membership(HUSAM).seen_seq == 2
    assert world.membership(AHMAD).seen_seq == 1
    assert world.membership(bot()).seen_seq == 0


def test_an_agents_message_goes_to_the_phone_that_the_person_last_wrote_from() -> None:
    world = World()
    world.chat(HUSAM, bot(), kind="direct", visibility="private")
    world.post("Hello", HUSAM, route=ADDRESS)
    world.post("Hi!", bot())
    [delivery] = world.deliveries()
    assert (delivery.to, delivery.seq, delivery.after) == (ADDRESS, 2, None)
    assert [w.job for w in world.queues.waiting("deliveries")] == [
        DeliveryJob(tenant=TENANT, chat_id="chat_1", delivery_id=delivery.id)
    ]
    world.post("And?", bot())
    assert world.deliveries()[1].after == delivery.id

    world.post("Now in the app", HUSAM)
    world.post("Fine", bot())
    assert len(world.deliveries()) == 2


def test_no_text_leaves_a_group_or_reaches_someone_who_opted_out() -> None:
    world = World()
    world.chat(HUSAM, bot(), route=ADDRESS)
    world.post("Hi!", bot())
    world.chat(HUSAM, bot(), chat_id="chat_2", kind="direct", visibility="private")
    world.post("STOP", HUSAM, chat_id="chat_2", kind="keyword", route=ADDRESS, opted_out=True)
    world.post("Hi!", bot(), chat_id="chat_2")
    assert world.deliveries() == []
    assert world.deliveries("chat_2") == []
    assert world.runs("chat_2") == []

    world.post("START", HUSAM, chat_id="chat_2", kind="keyword", route=ADDRESS, opted_out=False)
    world.post("Hi again!", bot(), chat_id="chat_2")
    assert len(world.deliveries("chat_2")) == 1


@pytest.mark.parametrize(("word", "stopped"), [("STOP", True), ("START", False)])
def test_keyword_counts_although_the_carrier_reports_an_opt_out_meanwhile(
    word: str, *, stopped: bool
) -> None:
    world = World()
    world.chat(HUSAM, bot(), kind="direct", visibility="private", route=ADDRESS)
    reported_at = NOON - timedelta(minutes=1)
    reported = {"opt_outs": {"sms": rfc3339(reported_at)}}
    key = world.membership(HUSAM).key
    transact = world.table.transact

    def late(writes: Sequence[Write]) -> None:
        world.table.transact = transact  # type: ignore[method-assign]
        world.table.write(Update(key, set=reported))
        transact(writes)

    world.table.transact = late  # type: ignore[method-assign]
    posted = world.post(word, HUSAM, kind="keyword", route=ADDRESS, opted_out=stopped)
    assert posted.message.created_at > NOON
    assert world.membership(HUSAM).opt_outs == ({"sms": reported_at} if stopped else {})
    assert world.texts() == [word]


def test_message_at_maximum_chain_depth_is_stored_and_triggers_no_agent() -> None:
    world = World(Settings(max_chain_depth=5))
    world.chat(bot("agt_a", "Ann"), bot("agt_b", "Bob"))
    world.post("Four deep", bot("agt_a", "Ann"), depth=4)
    world.post("Five deep", bot("agt_b", "Bob"), depth=5)
    assert [(run.agent_id, run.chain_depth) for run in world.runs()] == [("agt_b", 4)]
    assert world.texts() == ["Four deep", "Five deep"]


def test_the_first_message_of_an_hour_has_the_chat_moved_up_in_lists() -> None:
    world = World()
    world.chat(HUSAM, bot())
    world.post("At noon", HUSAM)
    world.drain()
    world.clock.advance(3600)
    world.post("At one", HUSAM)
    world.post("At one, again", HUSAM)
    assert world.queues.take(UpkeepJob) == (UpkeepJob(tenant=TENANT, chat_id="chat_1"),)


def test_the_timeline_never_runs_backwards_when_clocks_disagree() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    world.post("Now", HUSAM)
    world.clock.advance(-5)
    assert world.post("Before?", AHMAD).message.created_at == NOON


def test_extra_writes_commit_with_the_message_or_prevent_it() -> None:
    world = World()
    world.chat(HUSAM, AHMAD)
    mark = Key("acme#X", "Y")
    with pytest.raises(ExtraWriteFailed):
        world.app.chats.post_message(
            _new("Hello"), extra_writes=lambda _: [Update(mark, set={"v": 1}, condition=Exists())]
        )
    assert world.messages() == []
    world.app.chats.post_message(_new("Hello"), extra_writes=lambda _: [Update(mark, set={"v": 1})])
    world.app.chats.post_message(_new("Again"), extra_writes=lambda _: [Check(mark, Exists())])
    assert world.texts() == ["Hello", "Again"]


@pytest.mark.parametrize("already", [10, 5_000])
def test_posting_costs_two_round_trips_however_long_the_chat(already: int) -> None:
    small, large = _cost_of_posting(10), _cost_of_posting(already)
    assert large.calls == small.calls == ["query", "transact"]
    assert large.size <= 1.1 * small.size


class _Cost:
    def __init__(self, world: World) -> None:
        self.calls = [call.method for call in world.table.log]
        self.size = sum(call.bytes for call in world.table.log)


def _cost_of_posting(already: int) -> _Cost:
    world = World()
    chat = world.chat(HUSAM, bot())
    for seq in range(1, already + 1):
        world.table.write(
            Update(Key(chat.key.pk, f"MSG#{seq:012d}"), set={"text": "x" * 190, "seq": seq})
        )
    world.table.write(Update(chat.key, set={"last_seq": already}))
    world.table.log.clear()
    world.post("One more", HUSAM)
    return _Cost(world)


def _new(text: str) -> NewMessage:
    return NewMessage(
        tenant=TENANT,
        chat_id="chat_1",
        sender=MemberRef(kind="user", id=HUSAM.id),
        text=text,
        client_id=text,
    )


@pytest.mark.parametrize(
    ("sender", "reason"),
    [(person("usr_other"), Reason.PERSON_LEFT), (bot("agt_other"), Reason.AGENT_LEFT)],
    ids=["person", "agent"],
)
def test_post_of_nonmember_names_reason_of_its_kind(sender: NamedMember, reason: Reason) -> None:
    world = World()
    world.chat(HUSAM)
    with pytest.raises(NotFound) as refused:
        world.post("Hello", sender)
    assert refused.value.reason == reason
