"""Cases over the API: of a run and of a script, what is refused, and what is left of a gone run."""

from typing import Any

import pytest

import admin_api
from skein.models.common.storage import Update
from skein.models.config.overrides import TenantOverridesChange
from skein.models.runs.run import Run
from skein.services.common.pagination import DEFAULT_PAGE
from skein.trials.models.case import MAX_CASES
from tests.support.api_client import WHY, Answer, Client, everything
from tests.support.builders import TENANT, World, bot, person
from tests.support.fakes import ScriptedModel, says

HUSAM, COACH = person(), bot()
CASES = "/v1/agents/agt_a/cases"
SCRIPT = {"people": [{"name": "Ann"}], "turns": [{"from": "Ann", "text": "When do you open?"}]}
EXPECT = [{"says": ["nine"]}, {"calls_not": {"tool": "book", "arguments": {"day": None}}}]


class Shop(World):
    """An agent that has answered one message, and its operators."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent(system_prompt="You coach runners.")
        self.agent("agt_b", "Helper")
        self.support = Client(self, admin_api, sub="usr_op", scope="support")
        self.insider = Client(self, admin_api, sub="usr_op", scope="support privacy")

    def create(self, client: Client | None = None, **given: Any) -> Answer:
        body = {"name": "Knows the hours", "expect": EXPECT} | given
        query = {"reason": WHY} if client is not None else {}
        return (client or self.support).post(CASES, body, **query)

    @property
    def state(self) -> str:
        [case] = self.support.get(CASES).body["items"]
        return str(case["state"])


def told(**chat: Any) -> Shop:
    world = Shop(model=ScriptedModel.saying(says("At nine"), "done"))
    world.known(HUSAM)
    world.chat(HUSAM, COACH, **{"kind": "group", **chat})
    world.post("Do you open at pomelo hour?", HUSAM)
    world.drain()
    return world


def run_of(world: World) -> Run:
    return world.runs()[0]


def test_case_of_a_script_is_created_read_changed_and_deleted() -> None:
    world = Shop()
    made = world.create(script=SCRIPT, results=[{"tool": "book", "error": "full"}])
    assert made.status == 201, made.body
    case, path = made.body, f"{CASES}/{made.body['id']}"
    assert (case["state"], case["required"], case["run_id"]) == ("ready", True, None)
    assert case["script"]["turns"][0]["from"] == "Ann"
    assert case["expect"][1]["calls_not"]["arguments"] == {"day": None}
    assert world.support.get(path).body == case
    assert world.support.get(CASES).body["items"] == [case]
    changed = world.support.patch(path, {"required": False, "expect": [{"silent": True}]}).body
    assert (changed["required"], len(changed["expect"]), changed["name"]) == (
        False,
        1,
        case["name"],
    )
    assert changed["changed_by"] == "usr_op"
    assert world.support.patch(path, {"script": None}).status == 422
    assert world.support.delete(path).status == 204
    assert world.support.get(path).status == 404


def test_case_of_a_run_holds_no_word_of_its_prompt() -> None:
    world = told()
    before = everything(world)
    made = world.create(run_id=run_of(world).id)
    assert (made.status, made.body["state"]) == (201, "ready"), made.body
    [case] = [
        item for key, item in everything(world).items() if key not in before and "CASE#" in key.sk
    ]
    assert "pomelo" not in str(case)
    assert "prompt" not in case


def test_case_needs_an_ended_run_of_its_agent() -> None:
    world = told()
    run = run_of(world)
    body = {"name": "Mine", "expect": EXPECT, "run_id": run.id}
    assert world.support.post("/v1/agents/agt_b/cases", body).status == 404
    assert world.create(run_id="run_1_chat_1").status == 404
    assert world.create(run_id=run.id, script=SCRIPT).status == 422
    world.table.write(Update(run.key, set={"status": "waiting"}))
    assert world.create(run_id=run.id).status == 409


def test_agent_has_a_limited_number_of_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_CASES == 200
    most = DEFAULT_PAGE + 1
    monkeypatch.setattr("skein.trials.records.MAX_CASES", most)
    world = Shop()
    for _ in range(most):
        assert world.create(script=SCRIPT).status == 201
    assert world.create(script=SCRIPT).status == 409
    assert len(world.support.all_pages(CASES)) == most


def test_cases_go_with_their_agent() -> None:
    world = Shop()
    path = f"{CASES}/{world.create(script=SCRIPT).body['id']}"
    world.app.agents.delete(TENANT, "agt_a")
    assert world.support.get(path).status == 404
    assert world.support.get(CASES).status == 404
    assert world.create(script=SCRIPT).status == 404


def test_repeated_creation_makes_one_case() -> None:
    world = Shop()
    body = {"name": "Once", "expect": EXPECT, "script": SCRIPT}
    key = {"Idempotency-Key": "once"}
    first, second = (world.support.call("POST", CASES, body, headers=key) for _ in range(2))
    assert (first.status, second.body) == (201, first.body)
    assert len(world.support.get(CASES).body["items"]) == 1


def test_private_case_takes_the_role_privacy_and_a_reason() -> None:
    world = told(visibility="private")
    run = run_of(world)
    assert world.create(run_id=run.id).status == 403
    made = world.create(world.insider, run_id=run.id)
    assert (made.status, made.body["private"]) == (201, True)
    path = f"{CASES}/{made.body['id']}"
    for answer in (world.support.get(path).body, world.insider.get(CASES).body["items"][0]):
        assert (answer["name"], answer["expect"], answer["results"]) == (None, [], [])
    assert world.insider.get(path, reason=WHY).body == made.body
    assert world.support.patch(path, {"required": False}).status == 403
    assert world.support.delete(path).status == 403
    looked = world.app.audit.accesses(TENANT, HUSAM.id).items
    assert {each.verb for each in looked} == {"create", "read"}
    assert world.insider.delete(path, reason=WHY).status == 204


def test_tenant_that_forbids_reading_chats_keeps_no_run() -> None:
    world = told()
    world.app.tenant_settings.change(TENANT, TenantOverridesChange(operators_read_chats=False))
    assert world.create(run_id=run_of(world).id).status == 403
    assert world.create(script=SCRIPT).status == 201


def forgotten(world: World) -> None:
    world.app.message_deletion.delete(TENANT, HUSAM.ref, "chat_1", 1)


def erased(world: World) -> None:
    world.app.erasures.request(TENANT, HUSAM.id, by="usr_op")


def expired(world: World) -> None:
    at = int(world.clock.now().timestamp()) + 60
    world.table.write(Update(run_of(world).key, set={"expires_at": at}))


@pytest.mark.parametrize("ends", [forgotten, erased, expired])
def test_case_is_gone_with_the_prompt_of_its_run(ends: Any) -> None:
    world = told(visibility="private")
    path = f"{CASES}/{world.create(world.insider, run_id=run_of(world).id).body['id']}"
    assert world.state == "ready"
    ends(world)
    for _ in range(4):
        world.drain()
        world.clock.advance(1_000)
        world.tick()
    assert world.state == "gone"
    shown = world.insider.get(path, reason=WHY).body
    assert (shown["name"], shown["expect"], shown["results"]) == (None, [], [])
