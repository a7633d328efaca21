"""Operators try a new version of an agent on its cases before it answers people."""

from datetime import timedelta
from typing import Any

import pytest

from skein.errors import Unavailable
from skein.models.common.storage import Put, Update
from skein.models.runs.completion import ModelAnswer, ModelRequest, TokenUsage
from skein.models.runs.step import Step
from skein.privacy.models.audit import Access
from skein.services.common.pagination import DEFAULT_PAGE
from skein.trials.models.trial import TakenUnit, TrialHead, Unit
from tests.support.api_client import Answer, everything, operator
from tests.support.builders import TENANT, World, bot, person

HOURS: dict[str, Any] = {
    "name": "Hours",
    "script": {
        "people": [{"name": "Ann"}],
        "turns": [{"from": "Ann", "text": "When do you open?"}],
    },
    "expect": [{"says": ["9:00"]}],
}
WORSE = {"candidate": {"changes": {"system_prompt": "You are closed."}}}
BETTER = {"candidate": {"changes": {"system_prompt": "You open at 9:00. Be brief."}}}
ONCE: dict[str, Any] = BETTER | {"repeats": 1}  # fewer plays, where they do not matter

WHY = "to see what the new version says"


class Obedient:
    """A model that says when its system prompt opens, and judges that all holds."""

    def __init__(self, input_tokens: int = 100) -> None:
        self.requests: list[ModelRequest] = []
        self.usage = TokenUsage(input_tokens=input_tokens, output_tokens=10)

    def complete(self, request: ModelRequest) -> ModelAnswer:
        self.requests.append(request)
        asked = request.messages[0].content
        text = "We open at 9:00." if "9:00" in asked else "We are closed."
        if request.answer_schema is not None:
            text = '{"missing": ["%s"]}' % ("unfriendly" if "closed" in asked else "")
        return ModelAnswer(model="scripted", text=text, usage=self.usage)

    def stream(self, request: ModelRequest, heard: Any) -> ModelAnswer:
        return self.complete(request)


def world(**overrides: Any) -> World:
    made = World(overrides={"model": Obedient()} | overrides)
    made.agent(system_prompt="You open at 9:00.")
    return made


def keep(world: World, **fields: Any) -> str:
    query = {"reason": WHY}
    made = operator(world).call("POST", "/v1/agents/agt_a/cases", HOURS | fields, query=query)
    assert made.status == 201, made.body
    return str(made.body["id"])


def start(world: World, body: dict[str, Any], **query: str) -> Answer:
    return operator(world).call("POST", "/v1/agents/agt_a/trials", body, query=query)


def ended(world: World, body: dict[str, Any], **query: str) -> Any:
    answer = start(world, body, **query)
    assert answer.status == 202, answer.body
    world.drain()
    return operator(world).get(f"/v1/agents/agt_a/trials/{answer.body['id']}").body


def test_trial_blames_a_version_that_breaks_a_case() -> None:
    here = world()
    case_id = keep(here)
    trial = ended(here, WORSE)
    assert trial["state"] == "ended"
    [case] = trial["cases"]
    assert (case["id"], case["verdict"], case["blocks"]) == (case_id, "regressed", True)
    assert case["plays"] == {"baseline": 8, "candidate": 8}
    assert case["passed"] == {"baseline": 8, "candidate": 0}
    assert trial["tokens"] == 16 * 110
    path = f"/v1/agents/agt_a/trials/{trial['id']}/results"
    plays = operator(here).call("GET", path, query={"case_id": case_id}).body["items"]
    assert len(plays) == 16
    [worst] = [each for each in plays if (each["side"], each["n"]) == ("candidate", 1)]
    assert worst["texts"] == ["We are closed."]
    assert worst["missing"] == ['says none of: "9:00"']


def test_trial_of_an_equal_version_holds_after_three_plays_each() -> None:
    here = world()
    keep(here)
    [case] = ended(here, BETTER)["cases"]
    assert (case["verdict"], case["blocks"]) == ("held", False)
    assert case["plays"] == {"baseline": 3, "candidate": 3}


def test_trial_has_all_cases_if_they_are_more_than_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skein.services.common.pagination.MAX_PAGE_BYTES", 10_000)
    here = world()
    kept = {keep(here) for _ in range(DEFAULT_PAGE + 1)}
    trial = start(here, WORSE | {"max_tokens": 100_000_000})
    assert {case["id"] for case in trial.body["cases"]} == kept


def test_trial_is_charged_to_the_tenant_and_to_no_agent_or_person() -> None:
    here = world()
    keep(here)
    ended(here, BETTER)
    usage = operator(here).call("GET", "/v1/usage", query={"by": "agent"})
    assert usage.status == 200, usage.body
    assert [(row["key"], row["calls"]) for row in usage.body["rows"]] == [("trial", 6)]


def test_trial_over_its_tokens_or_the_limit_is_refused_before_a_model_is_asked() -> None:
    here = world()
    keep(here)
    assert start(here, WORSE | {"max_tokens": 10}).status == 409
    operator(here).patch("/v1/settings", {"tenant_tokens_per_day": 100})
    assert start(here, WORSE).status == 409
    here.drain()
    assert not here.app.ports.model.requests  # type: ignore[attr-defined]


def test_trial_stops_when_its_tokens_are_spent() -> None:
    here = World(overrides={"model": Obedient(input_tokens=20_000)})
    here.agent(system_prompt="You open at 9:00.")
    keep(here)
    trial = ended(here, WORSE | {"max_tokens": 50_000})
    assert (trial["state"], trial["why"]) == ("stopped", "its max_tokens are spent")
    assert trial["tokens"] < 100_000


def test_fourth_running_trial_is_refused_and_a_stopped_one_makes_room() -> None:
    here = world()
    keep(here)
    ids = [start(here, ONCE).body["id"] for _ in range(3)]
    assert start(here, ONCE).status == 409
    assert operator(here).delete(f"/v1/agents/agt_a/trials/{ids[0]}").status == 204
    assert start(here, ONCE).status == 202
    here.drain()
    listed = operator(here).get("/v1/agents/agt_a/trials").body["items"]
    assert [each["state"] for each in listed] == ["ended", "ended", "ended", "stopped"]


def test_tenant_has_four_plays_at_once() -> None:
    here = world()
    keep(here)
    start(here, BETTER)
    head = TrialHead.must_read(here.table.all_items(), TrialHead.key_of(TENANT))
    until = here.clock.now() + timedelta(minutes=5)
    taken = tuple(
        TakenUnit(
            unit=Unit(trial_id="trl_other", case_id="case_1", side="baseline", n=n), until=until
        )
        for n in range(4)
    )
    busy = head.model_copy(update={"taken": taken})
    here.table.write(Put(busy.key, busy.attributes()))
    here.run_ready()
    model: Any = here.app.ports.model
    assert not model.requests
    here.clock.advance(301)
    assert here.tick() == 1
    here.drain()
    assert len(model.requests) == 6


def test_versions_with_other_sections_do_not_play_the_case_of_a_run() -> None:
    here = world()
    run_case(here)
    model: Any = here.app.ports.model
    asked = len(model.requests)
    trial = ended(here, {"candidate": {"changes": {"reply_mode": "tools"}}}, reason=WHY)
    assert trial["cases"][0]["verdict"] == "not_comparable"
    assert len(model.requests) == asked


def test_trial_waits_while_the_model_is_down() -> None:
    here = world()
    keep(here)
    model: Any = here.app.ports.model
    answer, model.complete = model.complete, raising(Unavailable("down"))
    start(here, ONCE)
    here.drain()
    model.complete = answer
    here.clock.advance(120)
    assert here.tick() == 1
    here.drain()
    [trial] = operator(here).get("/v1/agents/agt_a/trials").body["items"]
    assert trial["state"] == "ended"


def raising(error: Exception) -> Any:
    def complete(_: ModelRequest) -> ModelAnswer:
        raise error

    return complete


def test_judged_sentence_alone_does_not_block() -> None:
    here = world()
    keep(here, expect=[{"judge": "The agent is friendly."}])
    [case] = ended(here, WORSE)["cases"]
    assert (case["verdict"], case["blocks"]) == ("regressed", False)


def told(here: World) -> str:
    here.known(person())
    here.chat(person(), bot(), kind="direct", visibility="private")
    here.post("My door is blue. When do you open?", person())
    here.drain()
    return str(here.runs()[0].id)


def run_case(here: World) -> str:
    run_id = told(here)
    return keep(here, script=None, run_id=run_id)


def test_case_of_a_private_run_takes_a_role_and_a_reason() -> None:
    here = world()
    case_id = run_case(here)
    assert start(here, WORSE).status == 422
    trial = ended(here, WORSE, reason=WHY)
    assert trial["cases"][0]["verdict"] == "regressed"
    path = f"/v1/agents/agt_a/trials/{trial['id']}/results"
    assert operator(here).call("GET", path, query={"case_id": case_id}).status == 403
    shown = operator(here).call("GET", path, query={"case_id": case_id, "reason": WHY})
    assert len(shown.body["items"]) == 16
    assert "blue" not in str(trial)
    access = [key.sk for key in here.table.all_items() if key.sk.startswith(Access.PREFIX)]
    assert len(access) == 2  # the case was created, and its results were read


def test_results_of_a_run_go_with_its_prompt() -> None:
    here = world()
    case_id = run_case(here)
    trial = ended(here, WORSE, reason=WHY)
    assert [key for key in here.table.all_items() if "REPLAY#" in key.sk]
    here.app.erasures.request(TENANT, person().id, by="usr_op")
    here.drain()
    assert not [key for key in here.table.all_items() if "REPLAY#" in key.sk]
    path = f"/v1/agents/agt_a/trials/{trial['id']}/results"
    shown = operator(here).call("GET", path, query={"case_id": case_id, "reason": WHY})
    assert shown.body["items"] == []
    again = ended(here, WORSE | {"cases": [case_id]}, reason=WHY)
    assert again["cases"][0]["verdict"] == "gone"


def test_prompt_that_is_erased_during_a_play_leaves_no_result() -> None:
    here = world()
    case_id = run_case(here)
    [run] = here.runs()
    asked = here.app.ports.model.complete

    def erase(request: ModelRequest) -> ModelAnswer:
        here.table.write(Update(Step.key_of(TENANT, run.id, 1), set={"prompt": None}))
        return asked(request)

    here.app.ports.model.complete = erase  # type: ignore[method-assign]
    trial = ended(here, WORSE | {"cases": [case_id]}, reason=WHY)
    assert trial["cases"][0]["verdict"] == "gone"
    assert not [key for key in here.table.all_items() if "REPLAY#" in key.sk]


def test_repeated_start_is_one_trial() -> None:
    here = world()
    keep(here)
    first, again = (
        operator(here).call(
            "POST", "/v1/agents/agt_a/trials", BETTER, headers={"Idempotency-Key": "k"}
        )
        for _ in range(2)
    )
    assert first.body["id"] == again.body["id"]


PATH = "/v1/agents/agt_a"
PROMPT = {"system_prompt": "You open at 9:00. Be brief."}
SPOILED = {"system_prompt": "You are closed."}


def gated(gate: str) -> World:
    here = World(overrides={"model": Obedient()})
    here.agent(system_prompt="You open at 9:00.", gate=gate)
    keep(here)
    return here


def refusal(answer: Answer) -> Any:
    assert answer.status == 409, answer.body
    return answer.body["details"]["reason"]


def test_blocking_gate_refuses_a_change_without_a_trial_that_held() -> None:
    here = gated("block")
    client = operator(here)
    assert refusal(client.patch(PATH, SPOILED)) == "trial_required"
    worse = ended(here, WORSE)["id"]
    assert refusal(client.patch(PATH, SPOILED, trial_id=worse)) == "trial_required"
    better = ended(here, ONCE)["id"]
    assert refusal(client.patch(PATH, SPOILED, trial_id=better)) == "trial_required"
    assert client.patch(PATH, PROMPT, trial_id=better).status == 200
    assert client.get(PATH).body["system_prompt"] == PROMPT["system_prompt"]


def test_trial_of_an_older_version_or_other_cases_is_stale() -> None:
    here = gated("block")
    client, trial = operator(here), ended(here, ONCE)["id"]
    keep(here, name="New")
    assert refusal(client.patch(PATH, PROMPT, trial_id=trial)) == "trial_stale"
    again = ended(here, ONCE)["id"]
    client.patch(PATH, {"description": "Open"}, override_reason="The lake wants a description")
    assert refusal(client.patch(PATH, PROMPT, trial_id=again)) == "trial_required"
    both = {"candidate": {"changes": PROMPT}, "baseline": 1, "repeats": 1}
    stale = ended(here, both)["id"]
    assert refusal(client.patch(PATH, PROMPT, trial_id=stale)) == "trial_stale"


def test_reason_of_an_owner_passes_the_gate_and_is_audited() -> None:
    here = gated("block")
    why = "The lake is closed until May"
    assert operator(here).patch(PATH, SPOILED, override_reason=why).status == 200
    entries = operator(here).get("/v1/audit").body["items"]
    assert [each["reason"] for each in entries if each["kind"] == "agent"] == [why]


def test_warning_gate_stores_the_change_and_warns() -> None:
    answer = operator(gated("warn")).patch(PATH, SPOILED)
    assert answer.status == 200
    assert "no_trial" in [each["code"] for each in answer.body["warnings"]]


def test_restore_and_import_use_the_gate() -> None:
    here = gated("off")
    client = operator(here)
    client.patch(PATH, SPOILED | {"gate": "block"})
    assert refusal(client.post(f"{PATH}/versions/1/restore", {})) == "trial_required"
    file = {"agent": {"name": "Coach"}, "memories": [{"text": "New"}]}
    before = everything(here)
    assert refusal(client.put(f"{PATH}/file", file)) == "trial_required"
    assert everything(here) == before


def test_run_records_the_version_of_its_agent() -> None:
    here = gated("off")
    told(here)
    operator(here).patch(PATH, PROMPT)
    here.post("And now?", person())
    here.drain()
    assert sorted(each.agent_version or 0 for each in here.runs()) == [1, 2]
