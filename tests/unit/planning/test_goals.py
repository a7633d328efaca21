"""Goals: set once, ended once, shown only to those they come from."""

import pytest

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.storage import Check, Exists, Key, Missing, Query
from skein.models.items.agent_item import REVISION
from skein.models.visibility.audience import OPEN, Audience
from skein.models.visibility.ownership import Owner, Reach
from skein.planning.api import GoalChange
from skein.planning.models.goal import MAX_GOALS, Goal
from tests.support.builders import NOON, TENANT, World, live

OWNER = Owner(tenant=TENANT, agent_id="agt_a")
HOLDS = Check(Key("nowhere", "META"), Missing())
FAILS = Check(Key("nowhere", "META"), Exists())

ANN_AND_BEN = Audience(open=False, people=("usr_ann", "usr_ben"))
PRIVATE = OWNER.model_copy(update={"scope": "chat:chat_1", "audience": ANN_AND_BEN})


def set_goal(
    world: World, text: str = "Finish Q4", goal_id: str = "goal_1", **fields: object
) -> Goal:
    owner = fields.pop("owner", OWNER)
    assert isinstance(owner, Owner)
    return world.app.goals.set(owner, text, goal_id=goal_id, **fields)  # type: ignore[arg-type]


def keys(world: World) -> list[str]:
    items = world.table.query(Query(f"{TENANT}#AGENT#agt_a")).items
    return [item["sk"] for item in items if item["sk"] != REVISION]


# ---------------------------------------------------------------------- set


def test_new_goal_is_active_with_its_source() -> None:
    world = World()
    owner = OWNER.model_copy(update={"source_chat_id": "chat_1", "source_run_id": "run_1_chat_1"})
    goal = set_goal(world, " Finish Q4 ", owner=owner, long_term=True)
    assert live(world.app.goals, OWNER.reach) == (goal,)
    assert (goal.text, goal.priority, goal.long_term) == ("Finish Q4", 2, True)
    assert (goal.status, goal.audience, goal.source_chat_id) == ("active", OPEN, "chat_1")


@pytest.mark.parametrize(
    ("text", "priority"),
    [("", 2), ("  ", 2), ("x" * 1_001, 2), ("a \ud800", 2), ("a", 0), ("a", 6)],
)
def test_values_that_do_not_fit_are_refused(text: str, priority: int) -> None:
    with pytest.raises(Unprocessable):
        set_goal(World(), text, priority=priority)


def test_an_agent_has_a_hundred_active_goals_at_most() -> None:
    world = World()
    for n in range(MAX_GOALS):
        set_goal(world, goal_id=f"goal_{n:03d}")
    with pytest.raises(Conflict, match="100 active goals"):
        set_goal(world, goal_id="goal_new")
    set_goal(world, owner=PRIVATE, goal_id="goal_elsewhere")
    world.app.goals.end(OWNER.reach, "goal_000", "completed")
    set_goal(world, goal_id="goal_new")
    with pytest.raises(Conflict, match="100 active goals"):
        world.app.goals.change(OWNER.reach, "goal_000", GoalChange(status="active"))


# ---------------------------------------------------------------------- ended


def test_a_goal_that_ended_is_out_of_the_way_of_the_active_ones() -> None:
    world = World()
    set_goal(world)
    world.clock.advance(60)
    goal = world.app.goals.end(OWNER.reach, "goal_1", "completed")
    assert (goal.status, goal.ended_at) == ("completed", world.clock.now())
    assert live(world.app.goals, OWNER.reach) == ()
    assert keys(world) == ["ENDED#GOAL#goal_1"]
    assert world.app.goals.get(OWNER.reach, "goal_1") == goal


def test_ending_a_completed_goal_as_abandoned_is_refused() -> None:
    world = World()
    set_goal(world)
    world.app.goals.end(OWNER.reach, "goal_1", "completed")
    with pytest.raises(Conflict, match="already completed"):
        world.app.goals.end(OWNER.reach, "goal_1", "abandoned")


# ---------------------------------------------------------------------- changed and removed


def test_an_operator_changes_a_goal_in_place_and_back_and_forth() -> None:
    world = World()
    set_goal(world)
    goals = world.app.goals
    assert goals.change(OWNER.reach, "goal_1", GoalChange(text="New", priority=1)).text == "New"
    assert keys(world) == ["GOAL#goal_1"]
    assert goals.change(OWNER.reach, "goal_1", GoalChange(status="abandoned")).ended_at == NOON
    assert keys(world) == ["ENDED#GOAL#goal_1"]
    goal = goals.change(OWNER.reach, "goal_1", GoalChange(status="active"))
    assert (goal.ended_at, goal.text, goal.version) == (None, "New", 4)
    assert keys(world) == ["GOAL#goal_1"]
    assert goals.change(OWNER.reach, "goal_1", GoalChange()) == goal


@pytest.mark.parametrize(
    ("status", "found"),
    [("active", ["goal_0"]), ("completed", ["goal_1"]), ("abandoned", ["goal_2"])],
)
def test_a_list_of_one_status_holds_no_other(status: str, found: list[str]) -> None:
    world = World()
    for n in range(3):
        set_goal(world, goal_id=f"goal_{n}")
    world.app.goals.end(OWNER.reach, "goal_1", "completed")
    world.app.goals.end(OWNER.reach, "goal_2", "abandoned")
    page = world.app.goals.list(OWNER.reach, status=status)
    assert [goal.id for goal in page.items] == found


# ---------------------------------------------------------------------- audience


def reach(*people: str) -> Reach:
    readers = Audience(open=False, people=people)
    return Reach(tenant=TENANT, agent_id="agt_a", scopes=(None, "chat:chat_1"), readers=readers)


def test_a_private_goal_is_shown_only_where_all_were_there() -> None:
    world = World()
    set_goal(world, goal_id="goal_open")
    set_goal(world, goal_id="goal_private", owner=PRIVATE)

    def shown(where: Reach) -> set[str]:
        return {goal.id for goal in live(world.app.goals, where)}

    assert shown(reach("usr_ann")) == {"goal_open", "goal_private"}
    assert shown(reach("usr_ann", "usr_cem")) == {"goal_open"}
    assert shown(reach("usr_ann").model_copy(update={"readers": OPEN})) == {"goal_open"}
    assert shown(OWNER.reach) == {"goal_open"}


def test_ending_a_goal_that_may_not_be_shown_is_refused() -> None:
    world = World()
    set_goal(world, owner=PRIVATE)
    for where in (reach("usr_cem"), reach("usr_ann").model_copy(update={"readers": OPEN})):
        with pytest.raises(NotFound):
            world.app.goals.end(where, "goal_1", "completed")
    assert (
        world.app.goals.end(reach("usr_ann", "usr_ben"), "goal_1", "completed").status
        == "completed"
    )
