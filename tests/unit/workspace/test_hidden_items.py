"""Items from before someone joined are kept, and later changes do not reveal them."""

from collections.abc import Callable

import pytest

from skein.errors import Conflict, SkeinError
from skein.models.outbox.due import due_pointer
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner, Reach
from skein.planning.models.plan import Plan
from skein.settings import Settings
from skein.workspace import thread_changes as changes
from skein.workspace.document_edits import Author
from skein.workspace.models.document import MAX_OF_CHAT, MAX_PINNED, DocumentReach, Folder
from tests.support.builders import TENANT, World, bot, live, person

AGENT = "agt_a"
ANN, BEN = person("usr_ann", "Ann"), person("usr_ben", "Ben")
ALONE = Audience(open=False, people=(ANN.id,))
BOTH = Audience(open=False, people=(ANN.id, BEN.id))
SCOPE = "chat:chat_1"
BEFORE = Owner(tenant=TENANT, agent_id=AGENT, scope=SCOPE, audience=ALONE)
SINCE = BEFORE.model_copy(update={"audience": BOTH})
EARLIER = Reach(tenant=TENANT, agent_id=AGENT, scopes=(None, SCOPE), readers=ALONE, content=ALONE)
LATER = EARLIER.model_copy(update={"readers": BOTH, "content": BOTH})
TEAM = Folder(tenant=TENANT, agent_id=AGENT, scope=SCOPE)
OF_CHAT = Folder(tenant=TENANT, chat_id="chat_1")
FULL = "the storage for this chat, person or agent is full"


def planned(world: World, owner: Owner, reach: Reach, name: str = "Report") -> Plan:
    return world.app.plans.set(owner, name, "Do it", reach=reach, run_after="2 days")


def hidden_plans(world: World) -> list[Plan]:
    """The active plans of Ann alone."""
    return [plan for plan in live(world.app.plans, EARLIER) if plan.audience == ALONE]


# ---------------------------------------------------------------------- names


def test_set_plan_with_the_name_of_a_hidden_one_makes_a_separate_plan() -> None:
    world = World()
    hidden = planned(world, BEFORE, EARLIER)
    world.clock.advance(60)
    made = planned(world, SINCE, LATER)
    assert made.created_at == world.clock.now()
    assert live(world.app.plans, LATER) == (made,)
    [kept] = hidden_plans(world)
    moved = {"id", "generation", "version"}
    assert kept.id != made.id
    assert kept.model_dump(exclude=moved) == hidden.model_dump(exclude=moved)
    again = planned(world, SINCE, LATER)
    assert (again.id, again.version) == (made.id, made.version + 1)


@pytest.mark.parametrize("over", [True, False])
def test_set_plan_with_the_name_of_a_hidden_one_has_the_id_and_due_time_of_a_first_one(
    *, over: bool
) -> None:
    """Else the order in which plans of one minute fire would show whether there is a hidden one."""
    world = World()
    planned(world, BEFORE, EARLIER)
    if over:
        world.app.plans.cancel(EARLIER, "Report")
    first = planned(World(), SINCE, LATER)
    made = planned(world, SINCE, LATER)
    assert (made.id, made.key, made.to_item()["gsi2pk"]) == (
        first.id,
        first.key,
        first.to_item()["gsi2pk"],
    )
    assert (made.generation, made.created_at) == (first.generation, first.created_at)


def test_hidden_plan_that_gave_way_fires_at_its_time() -> None:
    world = World()
    hidden = planned(world, BEFORE, EARLIER)
    planned(world, SINCE, LATER)
    [kept] = hidden_plans(world)
    assert kept.next_at == hidden.next_at
    stored = world.table.get(kept.key)
    assert stored is not None
    assert hidden.next_at is not None
    assert due_pointer("plan", kept.key, hidden.next_at).items() <= stored.items()


@pytest.mark.parametrize("over", [True, False])
def test_each_person_who_joins_leaves_another_plan_of_the_name(*, over: bool) -> None:
    world = World()
    made: list[Plan] = []
    people: list[str] = []
    for n in range(10):
        people.append(f"usr_{n}")
        who = Audience(open=False, people=tuple(people))
        reach = EARLIER.model_copy(update={"readers": who, "content": who})
        owner = BEFORE.model_copy(update={"audience": who})
        made.append(planned(world, owner, reach))
        if over:
            assert world.app.plans.cancel(reach, "Report").id == made[-1].id
    kept = world.app.plans.list(Reach(tenant=TENANT, agent_id=AGENT, scopes=(SCOPE,))).items
    assert len({plan.id for plan in kept}) == 10
    assert len({plan.audience for plan in kept}) == 10
    assert {plan.id for plan in made} == {made[0].id}


def test_cancel_plan_by_the_name_of_a_hidden_one_ends_the_shown_one() -> None:
    world = World()
    planned(world, BEFORE, EARLIER)
    made = planned(world, SINCE, LATER)
    assert world.app.plans.cancel(LATER, "Report").id == made.id
    assert [plan.status for plan in hidden_plans(world)] == ["active"]


def test_set_plan_that_is_repeated_by_a_retry_makes_one() -> None:
    world = World()
    planned(world, BEFORE, EARLIER)
    first, again = (
        world.app.plans.set(
            SINCE, "Report", "Do it", reach=LATER, run_after="2 days", effect="effect-1"
        )
        for _ in range(2)
    )
    assert first == again
    assert live(world.app.plans, LATER) == (first,)


def test_set_plan_where_a_wider_one_is_shown_is_refused() -> None:
    """Ben has left: Ann sees what they planned together, and cannot change it for him."""
    world = World()
    ours = planned(world, SINCE, LATER)
    with pytest.raises(Conflict, match="not changed"):
        planned(world, BEFORE, EARLIER)
    assert live(world.app.plans, EARLIER) == (ours,)


# ---------------------------------------------------------------------- limits


def goal(world: World, owner: Owner, reach: Reach, n: int) -> object:
    return world.app.goals.set(owner, f"Goal {n}", reach=reach)


def plan(world: World, owner: Owner, reach: Reach, n: int) -> object:
    return planned(world, owner, reach, f"Plan {n} of {len(owner.audience.people)}")


def thread(world: World, owner: Owner, reach: Reach, n: int) -> object:
    return world.app.threads.create(owner, {"concern": f"Thread {n}"}, reach=reach)


def listing(world: World, owner: Owner, reach: Reach, n: int, folder: Folder = TEAM) -> object:
    within = DocumentReach(folders=(folder,), readers=reach.readers, content=reach.content)
    name = f"doc {n} of {len(owner.audience.people)}"
    author = Author(audience=owner.audience)
    return world.app.documents.write(within, name, "", new_in=folder, pinned=True, author=author)


def of_chat(world: World, owner: Owner, reach: Reach, n: int) -> object:
    return listing(world, owner, reach, n, OF_CHAT)


Make = Callable[[World, Owner, Reach, int], object]
MOST = 10  # goals and plans; usually, these limits are ten times higher
LIMITS = {
    "goals": (goal, MOST, 2 * MOST),
    "plans": (plan, MOST, 2 * MOST),
    "threads": (thread, 10, 20),
    "documents on show": (listing, MAX_PINNED, 2 * MAX_PINNED),
    "documents of a chat": (of_chat, MAX_OF_CHAT, 2 * MAX_OF_CHAT),
}


@pytest.fixture
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skein.planning.goals.MAX_GOALS", MOST)
    monkeypatch.setattr("skein.planning.plans.MAX_PLANS", MOST)
    monkeypatch.setattr("skein.services.items.store.MAX_KEPT", 2 * MOST)


def fresh() -> World:
    world = World(Settings(max_open_threads=10))
    world.chat(ANN, BEN, bot(), visibility="private")
    return world


def refusal(make: Make, world: World, reach: Reach) -> str:
    with pytest.raises(SkeinError) as refused:
        make(world, SINCE, reach, 999)
    return str(refused.value)


@pytest.mark.usefixtures("_low_limits")
@pytest.mark.parametrize("what", LIMITS)
def test_limit_counts_only_items_that_may_be_shown(what: str) -> None:
    make, most, _ = LIMITS[what]
    refusals = []
    for hidden in (0, most):
        world = fresh()
        for n in range(hidden):
            make(world, BEFORE, EARLIER, n)
        for n in range(most):
            make(world, SINCE, LATER, n)
        refusals.append(refusal(make, world, LATER))
    assert refusals[0] == refusals[1]
    assert str(most) in refusals[0]


@pytest.mark.usefixtures("_low_limits")
@pytest.mark.parametrize("what", LIMITS)
def test_cap_on_all_items_reveals_no_number(what: str) -> None:
    make, most, cap = LIMITS[what]
    world = fresh()
    for n in range(cap):
        who = Audience(open=False, people=(f"usr_{n // most}",) * (1 + n // most))
        reach = EARLIER.model_copy(update={"readers": who, "content": who})
        make(world, BEFORE.model_copy(update={"audience": who}), reach, n)
    assert refusal(make, world, LATER) == FULL


def test_size_of_hidden_threads_leaves_the_shown_ones_their_room() -> None:
    texts = {"approach": "x" * 2_000, "progress": "x" * 2_000, "goal": "x" * 1_000}

    def grown(hidden: int) -> int:
        world = fresh()
        for owner, reach, count in ((BEFORE, EARLIER, hidden), (SINCE, LATER, 10)):
            for n in range(count):
                fields = {"concern": f"{n}", **texts}
                made = world.app.threads.create(owner, fields, reach=reach)
                noted = changes.fields({"blocking": "x" * 500})
                world.app.threads.change(reach, made.id, noted)
        return len(world.app.threads.list(LATER.model_copy(update={"scopes": (SCOPE,)})).items)

    assert grown(0) == grown(10) == 10
