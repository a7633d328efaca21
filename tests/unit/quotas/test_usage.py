"""The day's budget of background work: over it the work waits, and nothing is lost."""

import json
from datetime import timedelta

import pytest

from skein.memory.models.memory import JOURNAL_DAYS, Memory
from skein.models.chats.consolidation import Consolidation
from skein.models.common.ownership import Owner
from skein.models.common.storage import Put
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.jobs import ReflectionJob, SummaryJob, UpkeepJob
from skein.models.runs.completion import TokenUsage
from skein.settings import Settings
from tests.support.builders import NOON, TENANT, World, bot, person

HUSAM, COACH = person(), bot()
BUDGET = Settings(background_tokens_per_day=1_000)
MIDNIGHT = NOON.replace(hour=0) + timedelta(days=1)
DAY = 86_400


def use_up(world: World) -> None:
    """Let background work elsewhere in the tenant use the day's budget."""
    usage = TokenUsage(input_tokens=900, output_tokens=100)
    world.app.usage.add(TENANT, usage, spread_by="elsewhere", background=True)


def group(settings: Settings = BUDGET) -> World:
    world = World(settings)
    world.agent()
    world.chat(HUSAM, COACH, respond="manual", consolidate=True)
    return world


def keep_up(world: World) -> None:
    world.app.upkeep.keep(UpkeepJob(tenant=TENANT, chat_id="chat_1"))


def test_summaries_over_the_budget_wait_for_the_next_day_and_are_then_made() -> None:
    world = group()
    use_up(world)
    for n in range(12):
        world.post(f"Fact {n}", HUSAM)
    world.drain()
    for job in (
        SummaryJob(tenant=TENANT, chat_id="chat_1"),
        SummaryJob(tenant=TENANT, chat_id="chat_1", agent_id=COACH.id),
    ):
        world.renew(job)
    assert not world.model.summary_requests
    assert world.metrics.counts["BackgroundOverBudget"] >= 2
    keep_up(world)
    due = world.stored_chat().upkeep_at
    assert due is not None
    assert MIDNIGHT <= due < MIDNIGHT + timedelta(hours=1)
    assert not [each for each in world.queues.waiting("upkeep") if isinstance(each.job, SummaryJob)]
    world.clock.set(due)
    world.tick()
    world.drain()
    assert len(world.model.summary_requests) == 2


def test_consolidation_over_the_budget_waits_for_the_next_day_and_loses_nothing() -> None:
    world = group()
    world.post("I moved to Berlin", HUSAM)
    world.drain()
    world.clock.set(NOON + timedelta(hours=7))
    use_up(world)
    world.find_quiet()
    world.drain()
    assert not world.model.memory_requests
    assert world.membership(COACH).consolidated_seq == 0
    assert world.consolidations() == []
    item = world.table.get(Consolidation.key_of(TENANT, "chat_1"))
    assert item is not None
    assert MIDNIGHT.strftime("%Y-%m-%dT%H") in item["gsi2sk"]
    world.model.memories.append(json.dumps({"journal": [], "core": ["Husam lives in Berlin"]}))
    world.clock.set(MIDNIGHT)
    world.find_quiet()
    world.drain()
    assert len(world.model.memory_requests) == 1
    assert world.membership(COACH).consolidated_seq == 1


def test_consolidation_asked_for_over_the_budget_is_made_the_next_day() -> None:
    world = group()
    world.post("I moved to Berlin", HUSAM)
    world.drain()
    use_up(world)
    world.app.consolidation_requests.request(TENANT, "chat_1")
    world.drain()
    assert not world.model.memory_requests
    world.clock.set(MIDNIGHT)
    world.find_quiet()
    world.drain()
    assert len(world.model.memory_requests) == 1


def test_reflection_over_the_budget_waits_and_no_entry_fades_meanwhile() -> None:
    world = group()
    entry = Memory(
        **dict(Owner(tenant=TENANT, agent_id=COACH.id)),
        id="mem_1",
        kind="journal",
        text="Husam is tired",
        from_seq=1,
        to_seq=1,
        made_by="consolidation",
        fades_at=NOON + timedelta(days=JOURNAL_DAYS),
        created_at=NOON,
    )
    world.table.write(Put(entry.key, entry.to_item()))
    job = ReflectionJob(tenant=TENANT, agent_id=COACH.id)
    for day in range(JOURNAL_DAYS - 2, JOURNAL_DAYS + 4):
        world.clock.set(NOON + timedelta(days=day))
        use_up(world)
        world.work(world.app.reflection, job)
        [kept] = world.memories()
        assert not kept.faded(world.clock.now() + timedelta(days=1))
    assert not world.model.reflection_requests
    world.clock.advance(DAY)
    world.work(world.app.reflection, job)
    assert len(world.model.reflection_requests) == 1


@pytest.mark.parametrize(("said", "asked"), [(0, 2), (5_000, 2), (900, 0)])
def test_tenant_has_a_budget_of_its_own(said: int, asked: int) -> None:
    world = group()
    words = {"background_tokens_per_day": said}
    own = TenantSettings(tenant=TENANT, settings=words, changed_at=NOON)
    world.table.write(Put(own.key, own.to_item()))
    use_up(world)
    for n in range(12):
        world.post(f"Fact {n}", HUSAM)
    world.drain()
    world.clock.advance(60)
    keep_up(world)
    world.drain()
    assert min(len(world.model.summary_requests), 2) == asked


def test_runs_do_not_use_the_budget_and_background_work_does() -> None:
    world = World(BUDGET)
    world.agent()
    world.chat(HUSAM, COACH, kind="direct", visibility="private")
    world.app.usage.add(TENANT, TokenUsage(input_tokens=5_000), spread_by="a run")
    assert not world.app.upkeep.budget.spent(TENANT)
    use_up(world)
    assert world.app.upkeep.budget.spent(TENANT)
    world.clock.set(MIDNIGHT)
    assert not world.app.upkeep.budget.spent(TENANT)
