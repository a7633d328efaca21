"""The day's budget of background work: over it the work waits, and nothing is lost."""

import json
from collections import Counter
from datetime import timedelta

import pytest

from skein.errors import ConditionFailed, Unavailable
from skein.memory.models.memory import JOURNAL_DAYS, Memory
from skein.models.chats.consolidation import Consolidation
from skein.models.common.base import NamedMember
from skein.models.common.storage import Delete, Key, Put
from skein.models.config.overrides import TenantSettings
from skein.models.outbox.jobs import ConsolidationJob, ReflectionJob, SummaryJob, UpkeepJob
from skein.models.quotas.limit import Allowance, Rate, owner_of_user
from skein.models.quotas.usage import USAGE_SHARDS, Payer, Words, unsharded, user_usage_key
from skein.models.runs.completion import ModelRequest, TokenUsage
from skein.models.visibility.ownership import Owner
from skein.services.quotas.token_budget import bucket_keys
from skein.services.quotas.usage_reports import UsageReports
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
    world.chat_elsewhere(HUSAM, COACH)
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
    assert not world.app.background_engine.budget.spent(TENANT)
    use_up(world)
    assert world.app.background_engine.budget.spent(TENANT)
    world.clock.set(MIDNIGHT)
    assert not world.app.background_engine.budget.spent(TENANT)


# ---------------------------------------------------------------------- who pays

ANN = person("usr_ann", "Ann")
SHARED = Settings(background_tokens_per_day=100_000, auto_summary=False, auto_title=False)


def charged(world: World, user_id: str) -> int:
    """The background tokens of a person today."""
    item = world.table.get(user_usage_key(TENANT, world.clock.now(), user_id)) or {}
    return int(item.get("background_tokens", 0))


def used_by(world: World, user_id: str, tokens: int) -> None:
    """Let background work about a person's words use tokens."""
    usage = TokenUsage(input_tokens=tokens)
    words = Words.of([(user_id, 1)])
    world.app.usage.add(TENANT, usage, spread_by="x", background=True, words=words)


def quiet_chat(world: World, who: NamedMember, chat_id: str, text: str = "I moved") -> None:
    world.agent()
    world.chat(who, COACH, chat_id=chat_id, respond="manual", consolidate=True)
    world.post(text, who, chat_id=chat_id)
    world.clock.advance(7 * 3_600)


def consolidate(world: World, chat_id: str) -> bool:
    """Play a consolidation; returns whether all is consolidated."""
    world.work(world.app.consolidation, ConsolidationJob(tenant=TENANT, chat_id=chat_id))
    return world.membership(COACH, chat_id).consolidated_seq == world.stored_chat(chat_id).last_seq


def test_background_work_is_charged_to_the_people_whose_words_it_reads() -> None:
    world = World(Settings(auto_summary=False, auto_title=False))
    world.agent()
    world.chat(HUSAM, ANN, COACH, respond="manual", consolidate=True)
    world.post("a" * 100, HUSAM)
    world.post("b" * 200, ANN)
    world.clock.advance(7 * 3_600)
    assert consolidate(world, "chat_1")
    assert (charged(world, HUSAM.id), charged(world, ANN.id)) == (5, 10)
    full_at = [
        Allowance.from_optional(
            world.table.get(bucket_keys(TENANT, who.id)[0]), TENANT, ""
        ).tokens_full_at
        for who in (HUSAM, ANN)
    ]
    rate = Rate(Settings().user_tokens_per_day, timedelta(days=1))
    used = [rate.used(each, world.clock.now()) for each in full_at]
    assert used == [pytest.approx(5, abs=0.1), pytest.approx(10, abs=0.1)]


def test_person_over_their_share_waits_for_the_next_day_while_others_have_work() -> None:
    world = World(SHARED)
    quiet_chat(world, HUSAM, "chat_husam")
    quiet_chat(world, ANN, "chat_ann")
    used_by(world, HUSAM.id, 19_900)
    used_by(world, ANN.id, 1)
    assert not consolidate(world, "chat_husam")
    assert consolidate(world, "chat_ann")
    assert charged(world, HUSAM.id) <= 20_000
    world.clock.set(world.app.background_engine.budget.next_day() + timedelta(hours=1))
    world.find_quiet()
    world.drain()
    assert world.membership(COACH, "chat_husam").consolidated_seq == 1


def test_person_may_use_the_whole_budget_while_nobody_else_is_active() -> None:
    world = World(SHARED)
    quiet_chat(world, HUSAM, "chat_husam")
    used_by(world, HUSAM.id, 90_000)
    assert consolidate(world, "chat_husam")


def test_questions_at_the_same_time_do_not_overdraw_the_share() -> None:
    world = World(SHARED)
    quiet_chat(world, HUSAM, "chat_a", "word " * 3_000)
    quiet_chat(world, HUSAM, "chat_b", "word " * 3_000)
    used_by(world, ANN.id, 1)
    used_by(world, HUSAM.id, 14_000)

    def meanwhile(_: ModelRequest) -> str:
        assert not consolidate(world, "chat_b")
        return '{"journal": [], "core": []}'

    world.model.memories.append(meanwhile)
    assert consolidate(world, "chat_a")
    assert charged(world, HUSAM.id) == 14_015


def test_question_without_an_answer_is_not_charged() -> None:
    world = World(SHARED)
    quiet_chat(world, HUSAM, "chat_a")
    world.model.memories.append(Unavailable("503"))
    assert not consolidate(world, "chat_a")
    assert charged(world, HUSAM.id) == 0


def test_question_larger_than_the_share_is_asked_first_on_a_day() -> None:
    world = World(Settings(background_tokens_per_day=100, auto_summary=False, auto_title=False))
    quiet_chat(world, HUSAM, "chat_husam", "word " * 100)
    used_by(world, ANN.id, 1)
    assert consolidate(world, "chat_husam")


def test_background_work_waits_until_the_person_has_tokens_again() -> None:
    world = World(Settings(user_tokens_per_day=100, auto_summary=False, auto_title=False))
    quiet_chat(world, HUSAM, "chat_husam")
    owner = owner_of_user(HUSAM.id)
    full_at = Rate(100, timedelta(days=1)).after(None, 110, world.clock.now())
    empty = Allowance(tenant=TENANT, owner=owner)
    world.table.write(empty.changed(world.clock.now(), tokens_full_at=full_at)[1])
    assert not consolidate(world, "chat_husam")
    assert not world.model.memory_requests
    world.hours_pass(4)
    assert world.membership(COACH, "chat_husam").consolidated_seq == 1


def test_summaries_over_the_share_of_a_person_are_made_the_next_day() -> None:
    world = group()
    used_by(world, HUSAM.id, 199)
    used_by(world, ANN.id, 1)
    for n in range(3):
        world.post(f"Fact {n}", HUSAM)
    world.drain()
    assert not world.model.summary_requests
    jobs = world.metrics.counts["BackgroundOverBudget"]
    for _ in range(20):
        world.clock.advance(60)
        world.tick()
        world.drain()
    assert world.metrics.counts["BackgroundOverBudget"] == jobs  # nothing polls
    world.clock.set(MIDNIGHT + timedelta(hours=1))
    world.tick()
    world.drain()
    assert world.model.summary_requests


def test_bits_sent_to_services_are_limited_per_person_and_for_runs_without_one() -> None:
    world = World()
    ann, ben, nobody = (Payer("agt_a", user_id) for user_id in ("ann", "ben", None))

    def tell(payer: Payer, millibits: int) -> None:
        world.table.write(world.app.usage.telling(TENANT, payer, millibits, most=10_000))

    tell(ann, 6_000)
    tell(ann, 4_000)
    for payer, most in ((ann, 0), (ben, 10_000), (nobody, 10_000)):
        tell(payer, most)
        with pytest.raises(ConditionFailed):
            tell(payer, 1)
    world.clock.advance(86_400)
    tell(ann, 10_000)


# ---------------------------------------------------------------------- partitions


def move_to_release_0_3(world: World, *keys: Key) -> None:
    """Store counters where release 0.3.0 writes them, which may run beside this one."""
    for key in keys:
        item = world.table.get(key)
        assert item is not None
        world.table.write(Put(unsharded(key), {**item, **unsharded(key)._asdict()}))
        world.table.write(Delete(key))


def test_counters_of_a_day_are_spread_over_partitions() -> None:
    world = World()
    for number in range(320):
        payer = Payer(f"agt_{number % 10}", f"usr_{number}")
        usage = TokenUsage(input_tokens=1)
        world.app.usage.add(TENANT, usage, spread_by=f"run_{number}", payer=payer)
        world.app.usage.add_texts(
            TENANT, payer, "sms", texts=1, units=1, spread_by=f"delivery_{number}"
        )
    counted = Counter[str]()
    for key, item in world.table.all_items().items():
        names = [name for name in item if name.startswith(("texts#", "calls#", "answers"))]
        counted[key.pk] += sum(int(item[name]) for name in names)
    assert sum(counted.values()) == 320 * 5
    assert max(counted.values()) <= 2 * 320 * 5 / USAGE_SHARDS


def test_budget_of_a_person_counts_what_release_0_3_counted() -> None:
    world = World(SHARED)
    quiet_chat(world, HUSAM, "chat_husam")
    for who, tokens in ((HUSAM, 12_000), (ANN, 1)):
        used_by(world, who.id, tokens)
        move_to_release_0_3(world, user_usage_key(TENANT, world.clock.now(), who.id))
    used_by(world, HUSAM.id, 9_000)
    assert not consolidate(world, "chat_husam")  # 21,000 of 20,000, and others have work


def test_limit_and_report_count_what_release_0_3_counted() -> None:
    world = World()
    payer, now = Payer("agt_a", "usr_ann"), world.clock.now()
    usage = world.app.usage
    usage.add_tools(TENANT, payer, ["look_up"], spread_by="run_1")
    shard = next(
        key
        for key in world.table.all_items()
        if key.sk.startswith("AGENT#agt_a#") and "#USAGE#" in key.pk
    )
    move_to_release_0_3(world, shard, user_usage_key(TENANT, now, "usr_ann"))
    usage.add_tools(TENANT, payer, ["look_up"], spread_by="run_1")
    assert usage.tool_calls(TENANT, payer, "look_up") == 2
    assert usage.tool_calls(TENANT, Payer("agt_b", "usr_ann"), "look_up") == 2
    assert usage.tool_calls(TENANT, Payer("agt_a"), "look_up") == 2
    reports = world.app.get(UsageReports)
    for by in ("agent", "user"):
        [row] = reports.report(TENANT, by).rows
        assert row.usage.tools == {"look_up": 2}


def test_limit_of_bits_sent_to_services_uses_the_unsharded_item() -> None:
    world = World()
    told = world.app.usage.telling(TENANT, Payer("agt_a", "usr_ann"), 1, most=2)
    own = user_usage_key(TENANT, world.clock.now(), "usr_ann")
    assert told.key == unsharded(own) != own
