"""The feed: which changes of the table lead to which jobs."""

from collections.abc import Sequence
from typing import Any

import pytest

from skein.bootstrap.ports import Ports
from skein.bootstrap.wiring import App
from skein.errors import Unavailable
from skein.feed.feed import HANDLERS, Feed
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import NamedMember
from skein.models.common.storage import Item, Key
from skein.models.outbox.changes import ItemChange
from skein.models.outbox.jobs import Job, RecallJob
from skein.settings import Settings
from tests.fakes.system import FixedClock, MemoryMetrics, MemoryQueues
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.family import own_words_memory
from tests.support.feed import source

PK = Chat.key_of(TENANT, "chat_1").pk


class FailingQueues(MemoryQueues):
    """Queues that accept no job."""

    def send(self, jobs: Sequence[Job], *, delay_seconds: int = 0) -> None:
        raise Unavailable("the queue is down")


def a_message(seq: int = 1, text: str = "Hi", chat_id: str = "chat_1", **fields: Any) -> Item:
    message = Message(
        tenant=TENANT,
        chat_id=chat_id,
        id=f"msg_{seq}",
        seq=seq,
        text=text,
        client_id=f"c{seq}",
        created_at=NOON,
        **({"sender": person()} | fields),
    )
    return {**message.key._asdict(), **message.to_item()}


def a_membership(member: NamedMember, **fields: Any) -> Item:
    membership = Membership(tenant=TENANT, chat_id="chat_1", member=member, **fields)
    return {**membership.key._asdict(), **membership.attributes()}


def changed(before: Item | None, after: Item | None, *, expired: bool = False) -> ItemChange:
    item = after or before or {}
    key = Key(item["pk"], item["sk"])
    return ItemChange(key=key, before=before, after=after, at=NOON, sequence="1", expired=expired)


def new(item: Item) -> ItemChange:
    return changed(None, item)


def forwarded(*changes: ItemChange) -> list[Job]:
    """The jobs of a batch for recall; all jobs are sent."""
    queues = MemoryQueues(FixedClock(NOON))
    assert feed_on(queues).forward(changes) == frozenset()
    return of_recall(queues)


def of_recall(queues: MemoryQueues) -> list[Job]:
    return [each.job for each in queues.sent if isinstance(each.job, RecallJob)]


def feed_on(queues: MemoryQueues, **settings: bool) -> Feed:
    clock = FixedClock(NOON)
    ports = {"clock": clock, "table": MemoryTable(clock), "metrics": MemoryMetrics()}
    return App(Ports(Settings.model_validate(settings), queues=queues, **ports)).get(Feed)


def recall(first_seq: int, last_seq: int | None, **fields: Any) -> RecallJob:
    where = {"tenant": TENANT, "chat_id": "chat_1"} | fields
    return RecallJob(first_seq=first_seq, last_seq=last_seq, **where)


def test_new_text_is_indexed() -> None:
    assert forwarded(new(a_message(7))) == [recall(7, 7)]


def test_deployment_without_recall_and_live_channel_only_removes_from_the_index() -> None:
    queues = MemoryQueues(FixedClock(NOON))
    without = feed_on(queues, recall=False, live=False)
    erased = a_message(8, text="", kind="erased")
    assert without.forward([new(a_message(7)), changed(a_message(8), erased)]) == frozenset()
    assert [each.job for each in queues.sent] == [recall(8, 8)]


@pytest.mark.parametrize("kind", ["notice", "keyword", "erased"])
def test_message_that_recall_does_not_find_leads_to_no_job(kind: str) -> None:
    assert forwarded(new(a_message(7, kind=kind))) == []


@pytest.mark.parametrize(
    "change",
    [
        {"text": "", "kind": "erased"},
        {"text": "Ho"},
        {"sender": person("usr_lena", "Lena")},
        {"kind": "notice"},
    ],
)
def test_rewritten_message_is_indexed_again(change: dict[str, Any]) -> None:
    assert forwarded(changed(a_message(7), a_message(7, **change))) == [recall(7, 7)]


@pytest.mark.parametrize(
    "change",
    [{"runs": {"agt_a": "run_1"}}, {"lost": "all"}, {"deliveries": ("dlv_1",)}, {"expires_at": 9}],
)
def test_other_change_of_a_message_leads_to_no_job(change: dict[str, Any]) -> None:
    assert forwarded(changed(a_message(7), a_message(7, **change))) == []


@pytest.mark.parametrize("expired", [True, False])
def test_deleted_message_leaves_the_index(expired: bool) -> None:
    assert forwarded(changed(a_message(7), None, expired=expired)) == [recall(7, 7)]


def test_neighbouring_messages_of_a_chat_lead_to_one_job() -> None:
    batch = [new(a_message(seq)) for seq in (9, 8, 11, 8)]
    assert forwarded(*batch) == [recall(8, 11)]


def test_messages_that_are_far_apart_keep_their_own_jobs() -> None:
    erased = changed(a_message(3), a_message(3, text="", kind="erased"))
    assert forwarded(erased, new(a_message(9_000)), new(a_message(9_001))) == [
        recall(3, 3),
        recall(9_000, 9_001),
    ]


def test_messages_of_two_chats_are_two_jobs() -> None:
    jobs = forwarded(new(a_message(1)), new(a_message(1, chat_id="chat_2")))
    assert jobs == [recall(1, 1), recall(1, 1, chat_id="chat_2")]


def test_agent_that_leaves_loses_later_messages() -> None:
    item = a_membership(bot(), joined_seq=2, left_seq=5)
    assert forwarded(new(item)) == [recall(6, None, agent_id="agt_a")]


def test_agent_that_joins_again_loses_earlier_messages() -> None:
    item = a_membership(bot(), joined_seq=2, left_seq=5)
    assert forwarded(changed(item, None)) == [recall(3, 5, agent_id="agt_a")]


def test_person_who_leaves_or_joins_again_leads_to_no_job() -> None:
    item = a_membership(person(), joined_seq=2, left_seq=5)
    assert forwarded(new(item), changed(item, None)) == []


def test_items_without_a_handler_lead_to_no_job() -> None:
    delivery = {"pk": PK, "sk": "DELIVERY#1", "status": "done"}
    assert forwarded(new(delivery), new(a_membership(bot()))) == []


def test_item_of_an_unknown_shape_fails_and_the_others_are_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queues = MemoryQueues(FixedClock(NOON))
    broken = {"pk": PK, "sk": "MSG#000000000002", "text": "a secret"}
    batch = [new(a_message(1)), new(broken), new(a_message(3))]
    assert feed_on(queues).forward(batch) == {1}
    assert "change failed" in caplog.text
    assert "secret" not in caplog.text
    assert of_recall(queues) == [recall(1, 3)]


def test_changes_fail_whose_jobs_the_queue_does_not_accept() -> None:
    delivery = {"pk": PK, "sk": "DELIVERY#1", "status": "done"}
    batch = [new(delivery), new(a_message(1)), new(a_message(2)), new(a_message(900))]
    assert feed_on(FailingQueues(FixedClock(NOON))).forward(batch) == {1, 2, 3}


def test_memory_of_own_words_that_is_new_or_gone_is_indexed_or_not() -> None:
    memory = own_words_memory(5, 7)
    item = {**memory.key._asdict(), **memory.to_item()}
    job = recall(7, 7, agent_id=memory.agent_id)
    assert [forwarded(new(item)), forwarded(changed(item, None))] == [[job], [job]]


@pytest.mark.parametrize("kind", HANDLERS)
def test_handler_has_a_filter_in_the_template(kind: str) -> None:
    patterns = " ".join(source().settings.patterns)
    assert f'"{kind}#' in patterns or f'"{kind}"' in patterns


def test_chat_that_is_discarded_leaves_the_index() -> None:
    world = World()
    world.agent()
    chat = world.chat(person(), bot())
    before = {**chat.key._asdict(), **chat.to_item()}
    after = before | {"discarded_at": "2026-02-18T13:00:00.000Z"}
    assert of_recall_jobs(changed(before, after)) == [RecallJob(tenant=TENANT, chat_id="chat_1")]
    assert of_recall_jobs(changed(after, after | {"last_seq": 3})) == []
    assert of_recall_jobs(new(after)) == []


def of_recall_jobs(change: ItemChange) -> list[Job]:
    return [job for job in forwarded(change) if isinstance(job, RecallJob)]
