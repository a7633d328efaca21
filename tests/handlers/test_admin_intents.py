"""Goals and plans over the HTTP API for operators."""

from typing import Any

import pytest

from skein.models.common.storage import Put
from skein.models.directory.agent import Agent
from skein.models.visibility.ownership import Owner
from tests.support.api_client import WHY, Answer, Client, operator
from tests.support.builders import NOON, TENANT, World, bot, live, person
from tests.support.owners import ANN, TEAM

GOALS = "/v1/agents/agt_a/goals"
PLANS = "/v1/agents/agt_a/plans"


@pytest.fixture
def world() -> World:
    world = World()
    world.agent(time_zone="Europe/Berlin")
    world.known(person("usr_ann", "Ann"))
    world.chat(bot(), chat_id="chat_team", visibility="private")
    return world


# ---------------------------------------------------------------------- goals


def test_goals_are_listed_by_their_status(admin: Client) -> None:
    path = f"{GOALS}/{admin.post(GOALS, {'text': 'Finish Q4'}).body['id']}"
    ended = admin.patch(path, {"status": "completed"}).body
    assert (ended["status"], ended["ended_at"]) == ("completed", "2026-02-18T12:00:00.000Z")
    assert admin.get(GOALS, status="active").body["items"] == []
    assert admin.get(GOALS, status="completed").body["items"] == [ended]
    assert admin.get(GOALS).body["items"] == [ended]
    assert admin.delete(path).status == 204
    assert [admin.get(path).status, admin.delete(path).status] == [404, 404]


def test_goals_that_operators_make_are_open(world: World, admin: Client) -> None:
    admin.post(GOALS, {"text": "Finish Q4"})
    [goal] = live(world.app.goals, Owner(tenant=TENANT, agent_id="agt_a").reach)
    assert goal.audience.open


# ---------------------------------------------------------------------- plans


def test_plans_are_listed_by_their_status(admin: Client) -> None:
    plan = admin.post(PLANS, {"name": "Report", "instruction": "A", "cron": "0 9 * * *"}).body
    assert admin.get(PLANS, status="active").body["items"] == [plan]
    path = f"{PLANS}/{plan['id']}"
    assert [admin.delete(path).status, admin.delete(path).status] == [204, 204]
    assert admin.get(PLANS, status="canceled").body["items"] == [admin.get(path).body]


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ({"run_after": "2 hours"}, {"run_after": "2 hours"}),
        (
            {"scheduled_at": "2026-02-18T15:00:00"},
            {"scheduled_at": "2026-02-18T14:00:00.000Z"},
        ),
        (
            {"scheduled_at": "2026-02-18T15:00", "time_zone": "Etc/GMT-1"},
            {"scheduled_at": "2026-02-18T14:00:00.000Z"},
        ),
        ({"cron": "0  14 * * *", "time_zone": "UTC"}, {"cron": "0 14 * * *"}),
    ],
)
def test_plan_is_shown_with_the_kind_of_time_it_was_given(
    admin: Client, given_: dict[str, str], shown: dict[str, str]
) -> None:
    body = admin.post(PLANS, {"name": "Follow up", "instruction": "Ask", **given_}).body
    assert body["next_at"] == "2026-02-18T14:00:00.000Z"
    times = {name: body[name] for name in ("run_after", "scheduled_at", "cron")}
    assert {name: value for name, value in times.items() if value is not None} == shown


def test_canceled_plan_can_be_restored(world: World, admin: Client) -> None:
    times = (
        {"run_after": "2 hours"},
        {"cron": "0 9 * * *"},
        {"scheduled_at": "2026-02-18T14:00:00Z"},
    )
    for given in times:
        made = admin.post(PLANS, {"name": "Report", "instruction": "Go", **given}).body
        path = f"{PLANS}/{made['id']}"
        assert admin.patch(path, {"status": "canceled"}).body["next_at"] is None
        restored = admin.patch(path, {"status": "active"}).body
        assert (restored, restored["status"]) == (made, "active")
    admin.delete(path)
    world.clock.advance(86_400)
    late = admin.patch(path, {"status": "active"})
    assert (late.status, late.body["code"]) == (409, "conflict")
    assert admin.patch(path, {"status": "done"}).status == 422


def test_a_plan_of_the_same_name_is_replaced(admin: Client) -> None:
    first = admin.post(PLANS, {"name": "Report", "instruction": "A", "run_after": "1 day"}).body
    second = admin.post(PLANS, {"name": "Report", "instruction": "B", "cron": "0 9 * * *"}).body
    assert second["id"] == first["id"]
    assert admin.get(PLANS).body["items"] == [second]


def test_set_plan_with_chat_id_names_a_chat_of_the_agent(admin: Client) -> None:
    plan = {"name": "Remind", "instruction": "Say it", "run_after": "2 hours"}
    made = set_plan(admin, plan | {"chat_id": "chat_team"})
    assert (made.status, made.body["source_chat_id"]) == (201, "chat_team")
    assert set_plan(admin, plan | {"chat_id": "chat_none"}).status == 404


REMIND = {"name": "Remind", "instruction": "Say it", "run_after": "1 minute"}
DIRECT: dict[str, Any] = {"kind": "direct", "visibility": "private", "title": None}


def set_plan(admin: Client, plan: dict[str, Any]) -> Answer:
    return admin.call("POST", PLANS, plan, query={"reason": WHY})


def test_plan_with_user_id_belongs_to_newest_direct_chat(world: World, admin: Client) -> None:
    ann = person("usr_ann", "Ann")
    for chat_id in ("chat_old", "chat_new", "chat_gone"):
        world.chat(ann, bot(), chat_id=chat_id, respond="manual", **DIRECT)
    world.chat(ann, bot(), chat_id="chat_group", respond="manual")
    for chat_id in ("chat_old", "chat_new", "chat_group", "chat_gone"):
        world.clock.advance(60)
        world.post("Hello", ann, chat_id=chat_id)
    world.app.chat_admin.discard(TENANT, "chat_gone", ann.ref)
    world.queues.ready("turns")
    made = set_plan(admin, REMIND | {"user_id": "usr_ann"})
    assert (made.status, made.body["source_chat_id"]) == (201, "chat_new")
    assert admin.get(PLANS).body["items"] == []
    assert admin.get(PLANS, user_id="usr_ann", reason=WHY).body["items"] == [made.body]
    world.clock.advance(60)
    world.tick()
    [run] = admin.get("/v1/agents/agt_a/runs", reason=WHY).body["items"]
    assert (run["chat_id"], run["trigger"]["plan"]["by_operator"]) == ("chat_new", True)
    assert run["trigger"]["traced_to"] is None
    world.drain()
    assert world.texts("chat_new")[-1] == "Hello!"


@pytest.mark.parametrize(
    ("named", "zone"),
    [
        ({"user_id": "usr_ann"}, "Asia/Tokyo"),
        ({"chat_id": "chat_ann"}, "Asia/Tokyo"),
        ({"chat_id": "chat_team"}, "Europe/Berlin"),
        ({"user_id": "usr_ann", "time_zone": "UTC"}, "UTC"),
        ({}, "Europe/Berlin"),
    ],
)
def test_plan_without_time_zone_takes_the_persons_in_their_direct_chat(
    world: World, admin: Client, named: dict[str, str], zone: str
) -> None:
    admin.patch("/v1/users/usr_ann", {"time_zone": "Asia/Tokyo"})
    ann, coach = person("usr_ann", "Ann"), bot()
    world.chat(ann, coach, chat_id="chat_ann", kind="direct", visibility="private")
    world.chat(ann, coach, chat_id="chat_team", kind="group", visibility="private")
    assert set_plan(admin, REMIND | named).body["time_zone"] == zone


def test_plan_with_user_id_outlasts_inactivity_as_plan_of_operator(
    world: World, admin: Client
) -> None:
    world.chat(person("usr_ann", "Ann"), bot(), chat_id="chat_ann", **DIRECT)
    times = {"name": "Daily", "instruction": "Say it", "cron": "0 9 * * *"}
    plan = set_plan(admin, times | {"user_id": "usr_ann"}).body
    world.clock.advance(200 * 86_400)
    world.tick()
    path = f"{PLANS}/{plan['id']}"
    assert admin.get(path, user_id="usr_ann", reason=WHY).body["status"] == "active"


def test_plan_for_person_without_direct_chat_is_422(world: World, admin: Client) -> None:
    world.chat(person("usr_ann", "Ann"), bot(), chat_id="chat_group")
    answer = set_plan(admin, REMIND | {"user_id": "usr_ann"})
    assert answer.status == 422
    assert answer.body["detail"] == "the person has no direct chat with this agent"


def test_plan_for_unknown_person_is_404(admin: Client) -> None:
    assert set_plan(admin, REMIND | {"user_id": "usr_none"}).status == 404


def test_plan_for_chat_and_person_is_422(admin: Client) -> None:
    both = {"chat_id": "chat_team", "user_id": "usr_ann"}
    assert set_plan(admin, REMIND | both).status == 422


def test_plan_for_discarded_chat_is_409(world: World, admin: Client) -> None:
    ann = person("usr_ann", "Ann")
    world.chat(ann, bot(), chat_id="chat_ann", **DIRECT)
    world.app.chat_admin.discard(TENANT, "chat_ann", ann.ref)
    assert set_plan(admin, REMIND | {"chat_id": "chat_ann"}).status == 409


def test_plan_for_chat_of_other_agent_is_404(world: World, admin: Client) -> None:
    world.chat(person("usr_ann", "Ann"), bot("agt_b", "Other"), chat_id="chat_b", **DIRECT)
    assert set_plan(admin, REMIND | {"chat_id": "chat_b"}).status == 404
    assert set_plan(admin, REMIND | {"user_id": "usr_ann"}).status == 422


def test_a_plan_that_came_due_is_done_and_its_run_is_listed(world: World, admin: Client) -> None:
    admin.post(PLANS, {"name": "Follow up", "instruction": "Ask", "run_after": "1 minute"})
    world.clock.advance(60)
    world.tick()
    [plan] = admin.get(PLANS).body["items"]
    assert (plan["status"], plan["next_at"]) == ("done", None)
    [run] = admin.get("/v1/agents/agt_a/runs").body["items"]
    assert (run["chat_id"], run["trigger"]["type"]) == (None, "plan")
    assert run["trigger"]["plan"]["instruction"] == "Ask"
    assert admin.get(f"/v1/runs/{run['id']}").body["status"] == "queued"


# ---------------------------------------------------------------------- audiences


def test_private_items_are_listed_only_by_their_person_or_chat(world: World, admin: Client) -> None:
    for owner, text in ((ANN, "Ann's"), (TEAM, "The team's")):
        world.app.goals.set(owner, text)
        world.app.plans.set(owner, text, "Do it", run_after="1 day")
    for path, name in ((GOALS, "text"), (PLANS, "name")):
        assert admin.get(path).body["items"] == []
        [anns] = admin.get(path, user_id="usr_ann", reason=WHY).body["items"]
        assert (anns[name], anns["source_chat_id"]) == ("Ann's", "chat_ann")
        [teams] = admin.get(path, chat_id="chat_team", reason=WHY).body["items"]
        assert teams[name] == "The team's"
        one = f"{path}/{anns['id']}"
        assert admin.get(one).status == 404
        assert admin.get(one, user_id="usr_ann", reason=WHY).body == anns
        assert admin.delete(one).status == 404
        assert admin.call("DELETE", one, query={"user_id": "usr_ann", "reason": WHY}).status == 204


def test_chat_id_of_a_direct_chat_lists_the_items_of_its_person(
    world: World, admin: Client
) -> None:
    world.chat(person("usr_ann", "Ann"), bot(), chat_id="chat_ann", **DIRECT)
    made = set_plan(admin, REMIND | {"chat_id": "chat_ann"})
    assert made.status == 201
    assert admin.get(PLANS, chat_id="chat_ann", reason=WHY).body["items"] == [made.body]
    assert admin.get(PLANS, user_id="usr_ann", reason=WHY).body["items"] == [made.body]


KEPT = ("goals", "plans", "memories", "threads", "documents", "reflections")


@pytest.mark.parametrize("kept", KEPT)
def test_list_of_an_unknown_person_or_chat_is_404(world: World, admin: Client, kept: str) -> None:
    there = f"/v1/agents/agt_a/{kept}"
    named: list[dict[str, str]] = [
        {"user_id": "usr_ann", "reason": WHY},
        {"chat_id": "chat_team", "reason": WHY},
    ]
    absent = ({"user_id": "usr_nobody", "reason": WHY}, {"chat_id": "chat_nowhere", "reason": WHY})
    assert [admin.get(there, **each).status for each in ({}, *named)] == [200, 200, 200]
    assert [admin.get(there, **each).code for each in absent] == ["not_found", "not_found"]
    assert {admin.get(f"/v1/agents/agt_no/{kept}", **each).status for each in ({}, *named)} == {404}
    other = operator(world, tenant="other")
    theirs = Agent(tenant="other", id="agt_a", name="Theirs", created_at=NOON)
    world.table.write(Put(theirs.key, theirs.to_item()))
    assert [other.get(there, **each).status for each in ({}, *named)] == [200, 404, 404]


def test_a_person_and_a_chat_at_once_are_422(admin: Client) -> None:
    for path in (GOALS, PLANS):
        assert admin.get(path, user_id="usr_ann", reason=WHY, chat_id="chat_1").status == 422
