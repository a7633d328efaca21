"""Operators see private content only with the role `privacy` and a reason, which is audited."""

from functools import cache
from typing import Any

import pytest

import admin_api
from skein.errors import Ambiguous
from skein.models.common.base import rfc3339
from skein.models.directory.profile_change import ProfileSource
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.privacy.audit_log import MAX_TRANSACTION, AuditedAction
from skein.privacy.models.audit import AuditEntry
from skein.services.common.optimistic import revise
from skein.services.directory.profile_changes import set_by_agent
from tests.support.api_client import WHY, Answer, Client
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.erasure import settle
from tests.support.fakes import ScriptedModel

HUSAM, COACH = person(), bot()
SECRET = "My knee hurts"
OPEN = "How far today?"
AGENT = "/v1/agents/agt_a"
OF_HUSAM = {"user_id": "usr_husam"}
IN_PRIVATE = {"chat_id": "chat_own"}
HIS = Owner(
    tenant=TENANT,
    agent_id="agt_a",
    scope="user:usr_husam",
    audience=Audience(open=False, people=("usr_husam",)),
    source_chat_id="chat_own",
)

TOLD = ProfileSource(
    made_by="update_profile", agent_id="agt_a", chat_id="chat_own", seqs=(1,), said_at=NOON
)

# What remains of a private run that is withheld and has answered.
REMAINING = {
    "id",
    "agent_id",
    "chat_id",
    "status",
    "withheld",
    "created_at",
    "started_at",
    "ended_at",
}

Call = tuple[str, str, dict[str, Any] | None, dict[str, str]]

# Calls that show or change what is private: method, path, body and query.
CALLS: tuple[Call, ...] = (
    *(
        ("GET", f"{AGENT}/{kind}", None, named)
        for kind in ("memories", "goals", "plans", "threads", "documents", "reflections")
        for named in (OF_HUSAM, IN_PRIVATE)
    ),
    ("GET", f"{AGENT}/goals/{{goal}}", None, OF_HUSAM),
    ("PATCH", f"{AGENT}/goals/{{goal}}", {"priority": 1}, OF_HUSAM),
    ("DELETE", f"{AGENT}/goals/{{goal}}", None, OF_HUSAM),
    ("POST", f"{AGENT}/plans", {"name": "A", "instruction": "B", "run_after": "1 hour"}, {}),
    ("GET", f"{AGENT}/context", None, IN_PRIVATE),
    ("GET", f"{AGENT}/recall", None, {"q": "knee", **IN_PRIVATE}),
    ("GET", "/v1/chats/chat_own/documents", None, {}),
    ("POST", "/v1/chats/chat_own/documents", {"name": "a", "text": "b"}, {}),
    ("GET", "/v1/chats/chat_own/agents/agt_a", None, {}),
    ("PUT", "/v1/chats/chat_own/agents/agt_a", {"pinned_thread_id": None}, {}),
    ("POST", "/v1/runs/{run}/replay", {}, {}),
    ("PATCH", "/v1/users/usr_husam", {"profile": {"goals": "Rest"}}, {}),
    ("POST", "/v1/users/usr_husam/profile-changes/pch_1/undo", None, {}),
)


@pytest.fixture
def world() -> World:
    return World(model=ScriptedModel.saying(default="Rest it")).continue_from(_private())


@cache
def _private() -> World:
    world = World(model=ScriptedModel.saying(default="Rest it"))
    world.agent()
    world.known(HUSAM)
    world.chat(HUSAM, COACH, chat_id="chat_own", kind="direct", visibility="private")
    world.chat(HUSAM, COACH, chat_id="chat_open", respond="manual")
    world.post(SECRET, HUSAM, chat_id="chat_own")
    world.drain()
    world.app.goals.set(HIS, SECRET)
    husam = world.app.users.get(TENANT, HUSAM.id)
    given = set_by_agent(husam, "goals", SECRET, TOLD, change_id="pch_1", now=NOON)
    world.table.write(revise(husam, given)[1])
    return world


def caller(world: World, scope: str) -> Client:
    return Client(world, api=admin_api, sub="usr_op", scope=scope, claims={})


def send(
    world: World,
    scope: str,
    call: tuple[str, str, dict[str, Any] | None, dict[str, str]],
    **why: str,
) -> Answer:
    """Send a call of `CALLS`, as an operator with a scope."""
    method, path, body, query = call
    [goal] = caller(world, "admin").get(f"{AGENT}/goals", **OF_HUSAM, reason=WHY).body["items"]
    path = path.format(goal=goal["id"], run=world.runs("chat_own")[0].id)
    if path.endswith("/plans") and body is not None:
        body = body | OF_HUSAM
    return caller(world, scope).call(method, path, body, query=query | why)


def entries(world: World) -> list[AuditEntry]:
    items = world.table.all_items().items()
    found = [AuditEntry.from_item(item) for key, item in items if "#AUDIT#" in key.pk]
    return sorted(found, key=lambda entry: entry.id)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_private_content_takes_the_role_and_a_reason(world: World, call: Call) -> None:
    for scope, why in (
        ("support", {}),
        ("support", {"reason": WHY}),
        ("support owner", {"reason": WHY}),
        ("support privacy", {}),
        ("admin", {}),
    ):
        answer = send(world, scope, call, **why)
        assert (answer.status, answer.code) == (403, "forbidden"), (scope, why)
        assert SECRET not in str(answer.body)
    assert send(world, "support privacy", call, reason="too short").status == 422
    assert send(world, "support privacy", call, reason=WHY).status < 300


def test_refused_and_permitted_reads_are_audited_with_the_reason(world: World) -> None:
    send(world, "support", CALLS[0], reason=WHY)
    assert (entries(world)[-1].refused, entries(world)[-1].reason) == (True, WHY)
    send(world, "admin", CALLS[0], reason=WHY)
    assert (entries(world)[-1].refused, entries(world)[-1].reason) == (False, WHY)


def test_support_sees_of_a_private_run_its_status_times_and_reason(world: World) -> None:
    run = world.runs("chat_own")[0]
    support = caller(world, "support")
    [listed] = support.get(f"{AGENT}/runs").body["items"]
    for why in ({}, {"reason": WHY}):
        shown = support.get(f"/v1/runs/{run.id}", **why).body
        assert {name for name, value in shown.items() if value not in (None, [])} == REMAINING
        assert shown == listed
    assert (listed["withheld"], listed["status"]) == (True, "done")


def test_privacy_with_a_reason_sees_the_whole_private_run(world: World) -> None:
    run = world.runs("chat_own")[0]
    privacy = caller(world, "support privacy")
    assert privacy.get(f"/v1/runs/{run.id}").body["withheld"]
    shown = privacy.get(f"/v1/runs/{run.id}", reason=WHY).body
    assert (shown["withheld"], SECRET in str(shown["prompt"])) == (False, True)
    prices = {"currency": "USD", "models": {shown["steps"][0]["model"]: {"input": 2, "output": 8}}}
    assert caller(world, "owner").patch("/v1/settings", {"prices": prices}).status == 200
    [listed] = privacy.get(f"{AGENT}/runs", reason=WHY).body["items"]
    assert (listed["withheld"], listed["trigger"]["type"]) == (False, "chat_message")
    by = {"kind": "user", "id": HUSAM.id, "name": HUSAM.name}
    assert listed["preview"] == {"by": by, "asked": SECRET, "answered": "Rest it"}
    assert listed["money"] == privacy.get(f"/v1/runs/{run.id}", reason=WHY).body["money"]


def test_list_of_runs_has_no_words_if_operators_may_read_no_chats(world: World) -> None:
    world.post(OPEN, HUSAM, chat_id="chat_open")
    world.app.manual_trigger.now(TENANT, "chat_open", HUSAM.ref, agent_id="agt_a")
    world.drain()
    support, path = caller(world, "support"), f"{AGENT}/runs"
    assert support.get(path).body["items"][0]["preview"]["answered"] == "Rest it"
    caller(world, "owner").patch("/v1/settings", {"operators_read_chats": False})
    assert [each["preview"] for each in support.get(path).body["items"]] == [None, None]


def test_support_sees_open_runs_and_items_in_full(world: World) -> None:
    world.post(OPEN, HUSAM, chat_id="chat_open")
    world.app.manual_trigger.now(TENANT, "chat_open", HUSAM.ref, agent_id="agt_a")
    world.drain()
    support = caller(world, "support")
    shown = support.get(f"/v1/runs/{world.runs('chat_open')[0].id}").body
    assert (shown["withheld"], OPEN in str(shown["prompt"])) == (False, True)
    assert support.get(f"{AGENT}/context", chat_id="chat_open").status == 200
    assert support.get(f"{AGENT}/recall", q="far", chat_id="chat_open").status == 200
    assert support.get("/v1/transcripts/chat_open", reason=WHY).status == 200
    assert support.get("/v1/chats/chat_open/documents").status == 200
    assert support.get("/v1/chats/chat_open/agents/agt_a").status == 200
    assert support.get(f"{AGENT}/goals").body["items"] == []


def test_support_sees_and_changes_a_person_without_profile_and_numbers(world: World) -> None:
    support, path = caller(world, "support"), f"/v1/users/{HUSAM.id}"
    for why in ({}, {"reason": WHY}):
        for shown in (support.get(path, **why), support.patch(path, {"name": "Husam"}, **why)):
            assert (shown.body["profile"], shown.body["profile_changes"]) == (None, None)
    assert "profile" not in support.get("/v1/users").body["items"][0]
    assert support.patch(path, {"phones": []}).status == 403
    assert accesses(world) == []
    shown = caller(world, "admin").get(path, reason=WHY).body
    assert (shown["profile"], shown["profile_changes"][0]["value"]) == ({"goals": SECRET}, SECRET)
    assert [each["kind"] for each in accesses(world)] == ["user"]


def test_system_shows_private_runs_without_content(world: World) -> None:
    world.post("And now?", HUSAM, chat_id="chat_own")
    [run] = caller(world, "admin").get("/v1/system").body["runs"]
    assert (run["withheld"], run["trigger"]) == (True, None)


def accesses(world: World, user_id: str = HUSAM.id) -> list[dict[str, Any]]:
    """What a person sees of operators' looks, newest first."""
    items: list[dict[str, Any]] = Client(world, sub=user_id).all_pages("/v1/me/access", limit=2)
    return items


@pytest.mark.parametrize(
    "call",
    [*CALLS, ("GET", "/v1/transcripts/chat_own", None, {}), ("GET", "/v1/runs/{run}", None, {})],
    ids=str,
)
def test_person_sees_who_saw_or_changed_their_private_content_and_why(
    world: World, call: Call
) -> None:
    send(world, "support", call, reason=WHY)
    [helper] = accesses(world)  # the list of goals with which `send` begins
    assert send(world, "admin", call, reason=WHY).status < 300
    entry = entries(world)[-1]
    newest, *others = accesses(world)
    assert len(others) == 2
    assert others[-1] == helper
    assert newest == {
        "id": entry.id,
        "at": rfc3339(entry.at),
        "who": "usr_op",
        "verb": entry.verb,
        "kind": entry.kind,
        "reason": WHY,
    }
    assert accesses(world, "usr_ahmad") == []


def test_looks_at_open_content_and_refused_looks_are_no_accesses(world: World) -> None:
    admin = caller(world, "admin")
    assert admin.get("/v1/transcripts/chat_open", reason=WHY).status == 200
    assert admin.get(f"{AGENT}/context", chat_id="chat_open", reason=WHY).status == 200
    assert admin.get(f"{AGENT}/memories", **OF_HUSAM).status == 403
    assert caller(world, "support").get("/v1/transcripts/chat_own", reason=WHY).status == 403
    assert caller(world, "owner").get("/v1/transcripts/chat_open", reason=WHY).status == 403
    assert accesses(world) == []
    assert caller(world, "privacy").get("/v1/transcripts/chat_own", reason=WHY).status == 200


def test_list_of_runs_is_an_access_for_the_people_of_its_private_runs(world: World) -> None:
    assert caller(world, "admin").get(f"{AGENT}/runs", reason=WHY).status == 200
    assert [each["kind"] for each in accesses(world)] == ["run"]


def test_access_and_its_entry_are_written_together_once(world: World) -> None:
    lost: list[Any] = []
    action = AuditedAction(
        who="usr_op", scope="privacy", verb="read", kind="message", route="GET /x", reason=WHY
    )
    people = [f"usr_{number}" for number in range(MAX_TRANSACTION + 20)]
    write = world.table.transact

    def transact(writes: Any) -> None:
        write(writes)
        if len(lost) < 2:
            lost.append(writes)
            raise Ambiguous("the answer was lost")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.table, "transact", transact)
        entry = world.app.audit.add(TENANT, action, people)
    assert [each.id for each in entries(world)] == [entry.id]
    assert all(len(accesses(world, user_id)) == 1 for user_id in people)


def test_erasure_removes_the_accesses_of_a_person(world: World) -> None:
    caller(world, "admin").get("/v1/transcripts/chat_own", reason=WHY)
    assert len(accesses(world)) == 1
    world.app.erasures.request(TENANT, HUSAM.id, by="usr_op")
    settle(world)
    assert not [key for key in world.table.all_items() if key.sk.startswith("ACCESS#")]
