"""Operators rebuild the index of recall for a chat, an agent or a tenant."""

from datetime import timedelta

import pytest

import upkeep_worker
from skein.errors import Unavailable
from skein.models.chats.chat import Chat, chat_partition
from skein.models.common.base import NamedMember
from skein.models.common.storage import Query, Update
from skein.models.outbox.jobs import RecallJob
from skein.recall.models.stored import RecallPassage
from tests.support.api_client import Client, recorded
from tests.support.builders import TENANT, World, bot, person
from tests.support.webhooks import invoke

HUSAM, AHMAD, COACH = person(), person("usr_ahmad", "Ahmad"), bot()
VISITOR = person("vis_shop_1", "Visitor")
CLERK = NamedMember(kind="agent", id="agt_b", name="Clerk")


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.agent("agt_b", "Clerk")
    world.known(HUSAM, AHMAD, VISITOR)
    world.chat(HUSAM, AHMAD, COACH, chat_id="chat_1", respond="manual")
    world.chat(HUSAM, COACH, CLERK, chat_id="chat_2", visibility="private", respond="manual")
    world.chat(COACH, CLERK, chat_id="chat_3", respond="manual")
    visit = {"kind": "direct", "visibility": "private", "title": None}
    world.chat(VISITOR, COACH, chat_id="chat_4", respond="manual", **visit)
    senders = {"chat_1": HUSAM, "chat_2": HUSAM, "chat_3": COACH, "chat_4": VISITOR}
    for chat_id, sender in senders.items():
        world.post("Room 4711", sender, chat_id=chat_id)
    world.drain()
    return world


def indexed(world: World) -> set[tuple[str, str]]:
    """The chats and agents that have passages."""
    found = set()
    for chat_id in ("chat_1", "chat_2", "chat_3", "chat_4"):
        query = Query.under(chat_partition(TENANT, chat_id), RecallPassage.PREFIX)
        for item in world.table.query(query).items:
            passage = RecallPassage.from_item(item)
            found.add((passage.chat_id, passage.agent_id))
    return found


EVERY = {
    ("chat_1", "agt_a"),
    ("chat_2", "agt_a"),
    ("chat_2", "agt_b"),
    ("chat_3", "agt_a"),
    ("chat_3", "agt_b"),
    ("chat_4", "agt_a"),
}


@pytest.mark.parametrize(
    ("path", "ids", "expected"),
    [
        ("/v1/recall/rebuild", (None, None), EVERY),
        ("/v1/chats/chat_2/recall/rebuild", ("chat_2", None), {e for e in EVERY if "2" in e[0]}),
        ("/v1/agents/agt_b/recall/rebuild", (None, "agt_b"), {e for e in EVERY if "b" in e[1]}),
    ],
)
def test_rebuild_indexes_stored_messages(
    world: World,
    admin: Client,
    path: str,
    ids: tuple[str | None, str | None],
    expected: set[tuple[str, str]],
) -> None:
    answer = admin.post(path, {})
    assert answer.status == 202
    assert answer.body == {"chat_id": ids[0], "agent_id": ids[1]}
    world.drain()
    assert indexed(world) == expected


def test_rebuild_of_a_tenant_sends_one_job_for_a_chat_of_several_people(
    world: World, admin: Client
) -> None:
    admin.post("/v1/recall/rebuild", {})
    [job] = world.queues.take(RecallJob)
    assert isinstance(job, RecallJob)
    deadline = world.clock.now() + timedelta(seconds=300)
    world.app.recall_worker.take(job, deadline=deadline)
    jobs = world.queues.take(RecallJob)
    chat_ids = [job.chat_id for job in jobs if isinstance(job, RecallJob)]
    assert sorted(map(str, chat_ids)) == ["chat_1", "chat_2", "chat_3", "chat_3", "chat_4"]


def test_rebuild_that_runs_out_of_time_continues(world: World, admin: Client) -> None:
    admin.post("/v1/recall/rebuild", {})
    positions: list[str | None] = []
    while jobs := world.queues.take(RecallJob):
        for job in jobs:
            assert isinstance(job, RecallJob)
            if job.chat_id is None:
                positions.append(job.after)
                world.app.recall_worker.take(job, deadline=world.clock.now())
            else:
                deadline = world.clock.now() + timedelta(seconds=300)
                world.app.recall_worker.take(job, deadline=deadline)
    assert positions[0] is None
    assert positions[1:] == [
        "agents agt_a",
        "agents agt_b",
        "people usr_ahmad",
        "people usr_husam",
        "visitors vis_shop_1",
    ]
    assert indexed(world) == EVERY


def test_rebuild_that_is_not_allowed_is_refused(world: World, admin: Client) -> None:
    assert admin.post("/v1/chats/chat_gone/recall/rebuild", {}).status == 404
    assert admin.post("/v1/agents/agt_gone/recall/rebuild", {}).status == 404
    discarded = {"discarded_at": "2026-02-18T12:00:00.000Z"}
    world.table.write(Update(Chat.key_of(TENANT, "chat_1"), set=discarded))
    assert admin.post("/v1/chats/chat_1/recall/rebuild", {}).status == 409


def test_rebuild_whose_job_is_not_accepted_is_answered_with_503(
    world: World, admin: Client
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise Unavailable("down")

    world.queues.send = refuse  # type: ignore[method-assign]
    assert admin.post("/v1/recall/rebuild", {}).status == 503


def test_rebuild_is_in_the_audit_log(world: World, admin: Client) -> None:
    admin.post("/v1/chats/chat_2/recall/rebuild", {})
    [entry] = admin.all_pages("/v1/audit", day=f"{world.clock.now():%Y-%m-%d}")
    assert (entry["verb"], entry["kind"]) == ("change", "recall")
    assert entry["ids"] == {"chat_id": "chat_2"}


def test_jobs_of_the_queue_are_handled(world: World) -> None:
    event = recorded("upkeep_worker_recall")
    assert invoke(upkeep_worker, world, event) == {"batchItemFailures": []}
    event["Records"][0]["body"] = RecallJob(tenant=TENANT, chat_id="chat_1").model_dump_json()
    assert invoke(upkeep_worker, world, event) == {"batchItemFailures": []}
    assert indexed(world) == set()  # the invocation has less than 30 seconds left
    world.drain()
    assert indexed(world) == {("chat_1", "agt_a")}


def test_discarded_chat_leaves_the_index(world: World) -> None:
    world.app.recall_worker.take(
        RecallJob(tenant=TENANT, chat_id="chat_1"),
        deadline=world.clock.now() + timedelta(seconds=300),
    )
    assert indexed(world) == {("chat_1", "agt_a")}
    world.app.chat_admin.discard(TENANT, "chat_1", HUSAM.ref)
    world.drain()
    assert indexed(world) == set()


def test_deleted_agent_leaves_the_index(world: World, admin: Client) -> None:
    admin.post("/v1/recall/rebuild", {})
    world.drain()
    assert indexed(world) == EVERY
    assert admin.delete("/v1/agents/agt_a").status == 204
    world.drain()
    assert indexed(world) == {each for each in EVERY if each[1] == "agt_b"}


def test_deletion_that_is_repeated_sends_the_lost_job_again(world: World, admin: Client) -> None:
    admin.post("/v1/recall/rebuild", {})
    world.drain()
    send = world.queues.send

    def refuse(*_: object, **__: object) -> None:
        raise Unavailable("down")

    world.queues.send = refuse  # type: ignore[method-assign]
    assert admin.delete("/v1/agents/agt_a").status == 503
    world.queues.send = send  # type: ignore[method-assign]
    assert admin.delete("/v1/agents/agt_a").status == 204
    world.drain()
    assert indexed(world) == {each for each in EVERY if each[1] == "agt_b"}


def test_rebuild_of_a_deleted_agent_takes_it_out_of_the_index(world: World, admin: Client) -> None:
    admin.post("/v1/recall/rebuild", {})
    world.drain()
    admin.delete("/v1/agents/agt_a")
    world.queues.sent.clear()  # as if the job was lost
    assert admin.post("/v1/agents/agt_a/recall/rebuild", {}).status == 202
    world.drain()
    assert indexed(world) == {each for each in EVERY if each[1] == "agt_b"}
