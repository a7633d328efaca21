"""Threads over the HTTP API for operators, and which of them chats pin."""

import json
from typing import Any

import pytest

from skein.agent.tools import TOOLS
from skein.models.chats.membership import Membership
from skein.models.chats.summary import Summary
from skein.models.common.base import rfc3339
from skein.models.common.storage import Update
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner
from tests.support.agents import END
from tests.support.api_client import WHY, Client
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, calls

THREADS = "/v1/agents/agt_a/threads"
PIN = "/v1/chats/chat_1/agents/agt_a"
ANN = Owner(
    tenant=TENANT,
    agent_id="agt_a",
    scope="user:usr_ann",
    audience=Audience(open=False, people=("usr_ann",)),
)


@pytest.fixture
def world() -> World:
    world = World(model=ScriptedModel.saying(default=END))
    world.agent(reply_mode="tools", enabled_tools=tuple(TOOLS))
    world.chat(person(), bot())
    world.known(person("usr_ann", "Ann"))
    return world


def begin(admin: Client, concern: str = "The Q4 report", **fields: Any) -> Any:
    made = admin.post(THREADS, {"concern": concern, **fields})
    assert made.status == 201
    return made.body


def test_an_ended_thread_is_listed_by_its_status_and_cannot_be_changed(admin: Client) -> None:
    made = begin(admin, goal="Everybody agrees")
    path = f"{THREADS}/{made['id']}"
    admin.patch(path, {"active": True})
    ended = admin.patch(path, {"status": "completed", "evidence": "Signed"}).body
    at = {"completed_at": "2026-02-18T12:00:00.000Z"}
    assert ended == made | {"status": "completed", "evidence": "Signed", "active": False} | at
    assert admin.get(THREADS, status="open").body["items"] == []
    assert admin.get(THREADS, status="completed").body["items"] == [ended]
    assert admin.patch(path, {"progress": "More"}).status == 409
    assert admin.delete(path).status == 204
    assert [admin.get(path).status, admin.delete(path).status] == [404, 404]


def test_a_fourth_open_thread_is_refused(admin: Client) -> None:
    for _ in range(3):
        begin(admin)
    fourth = admin.post(THREADS, {"concern": "One more"})
    assert (fourth.status, fourth.body["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"concern": "x", "documents": ["nowhere.md"]}, 404),
        ({"concern": "x", "bound_skills": ["cooking"]}, 404),
    ],
)
def test_unknown_documents_and_skills_are_refused(admin: Client, body: Any, status: int) -> None:
    assert admin.post(THREADS, body).status == status
    assert admin.get(THREADS).body["items"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"evidence": "Signed"},
        {"status": "archived", "active": True},
        {"status": "begun"},
        {"concern": ""},
    ],
)
def test_invalid_thread_change_is_rejected(admin: Client, change: Any) -> None:
    made = begin(admin)
    path = f"{THREADS}/{made['id']}"
    assert admin.patch(path, change).status == 422
    assert admin.get(path).body == made


def test_ended_thread_can_be_opened_again(admin: Client) -> None:
    path = f"{THREADS}/{begin(admin)['id']}"
    ended = admin.patch(path, {"status": "archived"}).body
    assert (ended["status"], admin.patch(path, {"concern": "Other"}).status) == ("archived", 409)
    again = admin.patch(path, {"status": "open", "concern": "Other"}).body
    assert (again["status"], again["concern"], again["archived_at"]) == ("open", "Other", None)


def test_operator_clears_the_active_thread(admin: Client) -> None:
    path = f"{THREADS}/{begin(admin)['id']}"
    admin.patch(path, {"active": True})
    assert admin.patch(path, {"active": False}).body["active"] is False
    other = begin(admin, "Other")
    admin.patch(f"{THREADS}/{other['id']}", {"active": True})
    admin.patch(path, {"active": False})  # it is not the active one
    assert admin.get(f"{THREADS}/{other['id']}").body["active"] is True


def test_thread_of_a_person_is_found_with_the_id_of_the_person(world: World, admin: Client) -> None:
    hers = world.app.threads.create(ANN, {"concern": "Hers"})
    path = f"{THREADS}/{hers.id}"
    assert admin.get(path).status == 404
    assert admin.get(path, user_id="usr_ann", reason=WHY).body["concern"] == "Hers"
    assert [
        each["id"] for each in admin.get(THREADS, user_id="usr_ann", reason=WHY).body["items"]
    ] == [hers.id]
    assert admin.get(THREADS).body["items"] == []


# ---------------------------------------------------------------------- exported


def test_a_completed_thread_is_exported_as_one_line(world: World, admin: Client) -> None:
    made = begin(admin)
    path = f"{THREADS}/{made['id']}"
    admin.patch(path, {"active": True})
    world.model.script.extend([calls("get_my_runs"), END])
    world.post("Go on", person())
    world.drain()
    assert admin.get(f"{path}/export").status == 409
    admin.patch(path, {"status": "completed", "evidence": "Signed"})
    exported = admin.get(f"{path}/export")
    assert exported.status == 200
    unit = exported.body if isinstance(exported.body, dict) else json.loads(exported.body)
    assert [message["role"] for message in unit["messages"]][-2:] == ["user", "assistant"]
    assert "Go on" in json.dumps(unit)


# ---------------------------------------------------------------------- pinned


def test_a_thread_is_pinned_and_unpinned(world: World, admin: Client) -> None:
    made = begin(admin)
    for wanted in (made["id"], made["id"], None):
        answer = admin.put(PIN, {"pinned_thread_id": wanted})
        assert answer.status == 200
        assert answer.body == {
            "chat_id": "chat_1",
            "agent_id": "agt_a",
            "pinned_thread_id": wanted,
            "joined_seq": 0,
            "seen_seq": 0,
            "summary": None,
        }
        assert admin.get(PIN).body == answer.body
        assert world.membership(bot()).pinned_thread_id == wanted


def test_only_an_open_thread_that_may_be_shown_there_is_pinned(world: World, admin: Client) -> None:
    hers = world.app.threads.create(ANN, {"concern": "Hers"})
    ended = begin(admin)
    admin.patch(f"{THREADS}/{ended['id']}", {"status": "archived"})
    for thread_id, status in ((hers.id, 404), (ended["id"], 409), ("thr_nowhere", 404)):
        assert admin.put(PIN, {"pinned_thread_id": thread_id}).status == status
    private = {"chat_id": "chat_ann", "kind": "direct", "visibility": "private"}
    world.chat(person("usr_ann", "Ann"), bot(), **private)
    path = "/v1/chats/chat_ann/agents/agt_a"
    assert admin.put(path, {"pinned_thread_id": hers.id}).status == 403
    why = {"reason": WHY}
    assert admin.call("PUT", path, {"pinned_thread_id": hers.id}, query=why).status == 200


def test_thread_is_not_pinned_in_chat_without_the_agent(world: World, admin: Client) -> None:
    made = begin(admin)
    for path in ("/v1/chats/chat_1/agents/agt_b", "/v1/chats/chat_9/agents/agt_a"):
        assert admin.put(path, {"pinned_thread_id": made["id"]}).status == 404
    assert admin.put(PIN, {}).status == 422
    admin.delete("/v1/agents/agt_a")
    assert admin.put(PIN, {"pinned_thread_id": made["id"]}).status == 404
    assert world.membership(bot()).pinned_thread_id is None


def test_watermark_and_summary_of_an_agent_in_a_chat_are_readable(
    world: World, admin: Client
) -> None:
    world.post("Shall we?", person())
    world.drain()
    note = Summary(text="All agree.", from_seq=1, seq=1, audience=OPEN, at=NOON)
    membership = Membership.key_of(TENANT, "chat_1", bot())
    world.table.write(Update(membership, set={"summary": note.model_dump(mode="json")}))
    shown = admin.get(PIN).body
    assert (shown["seen_seq"], shown["pinned_thread_id"]) == (1, None)
    assert shown["summary"] == {
        "text": note.text,
        "from_seq": 1,
        "seq": 1,
        "at": rfc3339(note.at),
    }


def test_agent_membership_is_readable_until_it_leaves_and_reads_are_audited(
    world: World, admin: Client
) -> None:
    absent = ("/v1/chats/chat_1/agents/agt_b", "/v1/chats/chat_9/agents/agt_a")
    assert {admin.get(path).status for path in absent} == {404}
    world.app.chat_admin.discard(TENANT, "chat_1", person().ref)
    assert admin.get(PIN).status == 200
    [entry] = admin.get("/v1/audit", day=f"{world.clock.now():%Y-%m-%d}").body["items"]
    assert (entry["verb"], entry["kind"], entry["ids"]) == (
        "read",
        "member",
        {"chat_id": "chat_1", "agent_id": "agt_a"},
    )
    world.close_membership(bot())
    assert admin.get(PIN).status == 404


def test_thread_changes_of_operators_are_in_the_audit_log(world: World, admin: Client) -> None:
    made = begin(admin)
    path = f"{THREADS}/{made['id']}"
    admin.get(path)
    admin.put(PIN, {"pinned_thread_id": made["id"]})
    admin.patch(path, {"status": "completed"})
    admin.get(f"{path}/export")
    admin.delete(path)
    day = f"{world.clock.now():%Y-%m-%d}"
    entries = admin.get("/v1/audit", day=day).body["items"]
    assert [(each["verb"], each["kind"]) for each in reversed(entries)] == [
        ("create", "thread"),
        ("read", "thread"),
        ("change", "thread"),
        ("change", "thread"),
        ("read", "export"),
        ("delete", "thread"),
    ]
