"""Content from a private conversation changes nothing that others may be shown, with any tool."""

from collections.abc import Callable
from typing import Any

import pytest

from skein.models.common.storage import Query
from skein.models.runs.run import Run
from skein.models.runs.trigger import PlanTrigger, Trigger
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import OwnedItem, Owner, Reach
from skein.workspace.models.document import Document, DocumentReach, Folder
from tests.support.agents import (
    COACH,
    END,
    HUSAM,
    asked_by_service,
    results_of,
    settle,
    stage,
    the_run,
)
from tests.support.builders import NOON, TENANT, World, live, person
from tests.support.fakes import calls
from tests.support.private_changes import CHANGES, given, kept

ANN = person("usr_ann", "Ann")
ALONE = Audience(open=False, people=(HUSAM.id,))
BOTH = Audience(open=False, people=(ANN.id, HUSAM.id))
OPEN_OWNER = Owner(tenant=TENANT, agent_id=COACH.id)
OPEN_FOLDER = Folder(tenant=TENANT, agent_id=COACH.id)
DIRECT = f"user:{HUSAM.id}"
TEAM = "chat:chat_1"
PLAN_RUN = Trigger(
    type="plan",
    plan=PlanTrigger(id="plan_1", name="Note", instruction="Note it", scheduled_at=NOON),
)
QuestionOutcome = Callable[..., tuple[World, list[tuple[str, str]]]]


def done(world: World, run: Run) -> list[tuple[str, str]]:
    """What came of the tools of a run."""
    results = [result for result in results_of(world, run) if result.name != "end_run"]
    return [(result.status, result.content) for result in results]


def asked_in_private(*did: tuple[str, dict[str, Any]]) -> tuple[World, list[tuple[str, str]]]:
    """Husam asks in his direct chat; there are open things, as there were before."""
    world = stage(calls(*did), END)
    world.chat(HUSAM, COACH, visibility="private", kind="direct")
    given(world, OPEN_OWNER)
    world.post("Do it", HUSAM)
    settle(world)
    return world, done(world, the_run(world))


def asked_by_plan(*did: tuple[str, dict[str, Any]]) -> tuple[World, list[tuple[str, str]]]:
    """A plan that was set in Husam's direct chat comes due."""
    world = stage(calls(*did), END)
    given(world, OPEN_OWNER)
    run = asked_by_service(world, trigger=PLAN_RUN, audience=ALONE, scope=DIRECT)
    settle(world)
    return world, done(world, run)


@pytest.mark.parametrize("asked", [asked_in_private, asked_by_plan])
def test_change_of_open_thing_from_private_run_is_refused(asked: QuestionOutcome) -> None:
    world, results = asked(*CHANGES.values())
    outcomes = [(status, "not changed" in told) for status, told in results]
    assert dict(zip(CHANGES, outcomes, strict=True)) == dict.fromkeys(CHANGES, ("failed", True))
    assert {each.version for each in kept(world, OPEN_OWNER)} == {1}
    assert {each.audience for each in kept(world, OPEN_OWNER)} == {OPEN_OWNER.audience}
    assert len(kept(world, OPEN_OWNER)) == 5


def test_change_of_shared_item_from_narrower_content_is_refused() -> None:
    """Ann has joined since, and the history still holds what only Husam heard."""
    world = stage(calls(*CHANGES.values()), END)
    late = {f"user#{ANN.id}": 1}
    world.chat(HUSAM, ANN, COACH, visibility="private", respond="mention", joined_late=late)
    world.post("Between you and me", HUSAM)
    owner = Owner(tenant=TENANT, agent_id=COACH.id, scope=TEAM, audience=BOTH)
    given(world, owner)
    before = kept(world, owner)
    world.post("@Coach, do it", HUSAM)
    settle(world)
    outcomes = [(status, "not changed" in told) for status, told in done(world, the_run(world))]
    assert dict(zip(CHANGES, outcomes, strict=True)) == dict.fromkeys(CHANGES, ("failed", True))
    assert kept(world, owner) == before


@pytest.mark.parametrize("change", CHANGES)
def test_change_of_thing_by_all_its_people_is_done(change: str) -> None:
    world = stage(calls(CHANGES[change]), END)
    world.chat(HUSAM, ANN, COACH, visibility="private", respond="mention")
    owner = Owner(tenant=TENANT, agent_id=COACH.id, scope=TEAM, audience=BOTH)
    given(world, owner)
    world.post("@Coach, do it", HUSAM)
    settle(world)
    [(status, _)] = done(world, the_run(world))
    assert status == "done"


MADE = (
    ("set_goal", {"text": "Mango"}),
    ("set_plan", {"name": "Report", "instruction": "Mango", "run_after": "2 days"}),
    ("save_memory", {"text": "Husam likes mango", "kind": "core"}),
    ("write_document", {"name": "mango", "text": "secret", "pinned": True}),
    ("append_document", {"name": "mango", "text": "!"}),
    ("create_thread", {"concern": "Mango"}),
    ("switch_thread", {"thread_id": "thr_1"}),
)


def test_things_made_by_plan_set_in_private_are_kept_for_its_person() -> None:
    world, results = asked_by_plan(*MADE)
    assert [status for status, _ in results] == ["done"] * len(MADE)
    own = Reach(tenant=TENANT, agent_id=COACH.id, scopes=(DIRECT,))
    mango = world.app.documents.get(
        DocumentReach(folders=(OPEN_FOLDER.model_copy(update={"scope": DIRECT}),)), "mango"
    )
    goals, plans = live(world.app.goals, own), live(world.app.plans, own)
    made: list[OwnedItem | Document] = [*goals, *plans, *world.memories(scope=DIRECT), mango]
    made += live(world.app.threads, own)
    assert len(made) == 5
    assert {each.audience for each in made} == {ALONE}
    here = own.model_copy(update={"scopes": (None, DIRECT)})
    assert (mango.text, world.app.threads.active_id(here)) == ("secret!", "thr_1")
    assert world.app.threads.active_id(OPEN_OWNER.reach) is None
    assert [plan.instruction for plan in live(world.app.plans, OPEN_OWNER.reach)] == ["Report"]
    open_things = [*kept(world, OPEN_OWNER), *world.memories()]
    assert "ango" not in "".join(each.model_dump_json() for each in open_things)


def test_plan_carries_its_partition_to_its_run() -> None:
    world = stage(END)
    owner = Owner(tenant=TENANT, agent_id=COACH.id, scope=TEAM, audience=ALONE)
    world.app.plans.set(owner, "Report", "Report", run_after="1 hour")
    world.clock.advance(3_700)
    world.tick()
    pages = world.table.query(Query.under(f"{TENANT}#AGENT#{COACH.id}", "RUN#")).items
    [run] = [Run.from_item(item) for item in pages if "#STEP#" not in item["sk"]]
    assert (run.scope, run.audience) == (TEAM, ALONE)


@pytest.mark.parametrize(("audience", "scope"), [(ALONE, DIRECT), (BOTH, None)])
def test_run_without_scope_keeps_things_in_the_scope_of_its_only_person(
    audience: Audience, scope: str | None
) -> None:
    world = stage(calls(("set_goal", {"text": "Mango"})), END)
    run = asked_by_service(world, trigger=PLAN_RUN, audience=audience)
    settle(world)
    [(status, _)] = done(world, run)
    reach = Reach(tenant=TENANT, agent_id=COACH.id, scopes=(scope,))
    goals = [goal.audience for goal in live(world.app.goals, reach)]
    assert (status, goals) == (("failed", []) if scope is None else ("done", [audience]))
