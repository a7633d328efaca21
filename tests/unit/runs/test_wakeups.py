"""Which agents a message triggers."""

import pytest

from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.runs.trigger import QueuedRun, Trigger
from skein.services.runs.wakeups import mentions, woken_by
from tests.support.builders import NOON, TENANT, bot, person

ANN, BOB = bot("agt_1", "Ann"), bot("agt_2", "Data Bob")
HUSAM = person()


def _triggered(text: str, respond: str, sender=HUSAM, also=(), **fields) -> list[str]:  # type: ignore[no-untyped-def]
    chat = Chat(
        tenant=TENANT,
        id="chat_1",
        kind="group",
        visibility="open",
        respond=respond,
        activity_hour=NOON,
        created_at=NOON,
    )
    message = Message(
        tenant=TENANT,
        chat_id="chat_1",
        id="msg_1",
        seq=1,
        text=text,
        sender=sender,
        client_id="1",
        created_at=NOON,
        **fields,
    )
    agents = [Membership(tenant=TENANT, chat_id="chat_1", member=m) for m in (BOB, *also, ANN)]
    return [m.member.id for m in woken_by(message, chat, agents, max_chain_depth=5)]


def test_every_agent_except_the_sender_is_triggered_in_id_order() -> None:
    assert _triggered("Hello", "every") == ["agt_1", "agt_2"]
    assert _triggered("Hello", "every", sender=ANN) == ["agt_2"]


def test_mentioned_agents_are_triggered_in_order_of_appearance() -> None:
    assert _triggered("@data bob, then @Ann and @Ann", "mention") == ["agt_2", "agt_1"]
    assert _triggered("@Ann", "mention", sender=ANN) == []
    assert _triggered("nobody", "mention") == []


def test_mention_of_shared_name_triggers_both_agents() -> None:
    other_ann = bot("agt_3", "ANN")
    assert _triggered("@Ann, and @Data Bob", "mention", also=(other_ann,)) == [
        "agt_1",
        "agt_3",
        "agt_2",
    ]


def test_manual_chat_keyword_and_notice_trigger_no_agent() -> None:
    assert _triggered("@Ann", "manual") == []
    assert _triggered("STOP", "every", kind="keyword") == []
    assert _triggered("Limit reached", "every", kind="notice") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("me@ann.example", []),
        ("@Annabel", []),
        ("(@ann)", ["ann"]),
        ("@ann's", ["ann"]),
        ("@ann lee and @ann", ["ann lee", "ann"]),
        ("@ANN", ["ann"]),
        ("@a.b", ["a.b"]),
        ("@axb", []),
        ("@élan", ["élan"]),
    ],
)
def test_mentions_are_whole_words_and_the_longest_name_counts(text: str, found: list[str]) -> None:
    assert mentions(text, ["ann", "ann lee", "a.b", "élan"]) == found


def _trigger(seq: int, kind: str = "user") -> Trigger:
    return Trigger(type="chat_message", seq=seq, from_seq=seq, by={"kind": kind, "id": "x"})


def test_a_queued_run_marks_the_newest_message_by_a_person_and_the_least_depth() -> None:
    slot = QueuedRun(run_id="run_1_chat_1", trigger=_trigger(3), depth=0)
    slot = slot.widened(_trigger(4, "agent"), depth=2)
    assert (slot.trigger.seq, slot.trigger.seqs, slot.depth) == (3, range(3, 5), 0)
    slot = slot.widened(_trigger(5), depth=0)
    assert (slot.trigger.seq, slot.trigger.seqs) == (5, range(3, 6))


def test_among_agents_alone_the_newest_is_marked() -> None:
    slot = QueuedRun(run_id="run_1_chat_1", trigger=_trigger(3, "agent"), depth=3)
    slot = slot.widened(_trigger(4, "agent"), depth=2)
    assert (slot.trigger.seq, slot.depth) == (4, 2)


def test_respond_now_joins_a_queued_run_and_keeps_all_who_follow() -> None:
    manual = Trigger(type="manual", by={"kind": "user", "id": "x"})
    slot = QueuedRun(run_id="run_1_chat_1", trigger=_trigger(3), depth=0, then=("agt_3",))
    slot = slot.widened(manual, depth=0, then=("agt_2", "agt_3"))
    assert slot.then == ("agt_2", "agt_3")
    assert slot.trigger.type == "chat_message"
    first_by_hand = QueuedRun(run_id="run_1_chat_1", trigger=manual, depth=0)
    assert first_by_hand.widened(_trigger(9), depth=0).trigger.seq == 9
