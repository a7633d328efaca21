"""Pauses: what they hold back, what they keep, and how the work continues."""

from datetime import timedelta

import pytest

from skein.models.common.reason import Reason
from skein.models.common.storage import Update
from skein.models.config.overrides import StackOverridesChange, TenantOverridesChange
from skein.models.config.pauses import RESUMING, PauseKind
from skein.models.outbox.jobs import DeliveryJob
from skein.models.runs.run import Run
from skein.services.delivery.policy import waits_for
from tests.support.builders import NOON, TENANT, World, bot, person
from tests.support.fakes import ScriptedModel
from tests.support.sms import Texting

HUSAM, COACH = person(), bot()


def answering(*answers: str) -> World:
    world = World(model=ScriptedModel.saying(*answers))
    world.agent()
    world.chat(HUSAM, COACH, kind="direct")
    return world


def switch(world: World, scope: str, kind: PauseKind, *, on: bool) -> None:
    if scope == "tenant":
        world.app.pauses.switch(TENANT, kind, on=on)
    else:
        world.app.stack_settings.switch(kind, on=on)


def minutes_pass(world: World, minutes: int, *, step: int = 1) -> None:
    for _ in range(0, minutes, step):
        world.clock.advance(60 * step)
        world.tick()
        world.drain()


def due_kind(world: World, run: Run) -> str | None:
    item = world.table.get(run.key)
    assert item is not None
    return str(item["gsi2pk"]).split("#")[1] if "gsi2pk" in item else None


@pytest.mark.parametrize("scope", ["tenant", "stack"])
def test_run_during_pause_is_kept_without_attempt_or_job(scope: str) -> None:
    world = answering("Hello.")
    switch(world, scope, "runs", on=True)
    world.post("Hi", HUSAM)
    world.drain()
    world.queues.sent.clear()
    minutes_pass(world, 120)
    [run] = world.runs()
    assert (run.status, run.attempts, run.deferrals, run.reason) == ("queued", 0, 0, Reason.PAUSED)
    assert due_kind(world, run) == "paused_run"
    assert not world.queues.sent
    assert world.texts() == ["Hi"]


@pytest.mark.parametrize("scope", ["tenant", "stack"])
def test_run_after_pause_is_answered_within_a_minute(scope: str) -> None:
    world = answering("Hello.")
    switch(world, scope, "runs", on=True)
    world.post("Hi", HUSAM)
    world.drain()
    minutes_pass(world, 7 * 60, step=10)  # longer than `DEFERRALS.give_up`
    switch(world, scope, "runs", on=False)
    minutes_pass(world, 1)
    assert world.texts() == ["Hi", "Hello."]
    assert world.metrics.counts["AnswerSeconds"] < 60


def test_messages_during_pause_join_one_run() -> None:
    world = answering("Hello.")
    switch(world, "tenant", "runs", on=True)
    for text in ("One", "Two", "Three"):
        world.post(text, HUSAM)
        world.drain()
    switch(world, "tenant", "runs", on=False)
    minutes_pass(world, 1)
    assert world.texts() == ["One", "Two", "Three", "Hello."]


def test_pause_of_another_tenant_and_end_of_one_of_two_pauses_change_nothing() -> None:
    world = answering("Hello.", "Again.")
    world.app.pauses.switch("other", "runs", on=True)
    world.post("Hi", HUSAM)
    world.drain()
    assert world.texts() == ["Hi", "Hello."]
    switch(world, "tenant", "runs", on=True)
    switch(world, "stack", "runs", on=True)
    world.post("You?", HUSAM)
    world.drain()
    switch(world, "stack", "runs", on=False)
    minutes_pass(world, 30)
    assert world.texts()[-1] == "You?"
    switch(world, "tenant", "runs", on=False)
    minutes_pass(world, 1)
    assert world.texts()[-1] == "Again."


def test_run_that_slow_worker_holds_back_after_the_end_is_resumed() -> None:
    world = answering("Hello.")
    switch(world, "tenant", "runs", on=True)
    world.post("Hi", HUSAM)
    world.drain()
    [run] = world.runs()
    held_back = world.table.get(run.key)
    assert held_back is not None
    switch(world, "tenant", "runs", on=False)
    world.tick()
    world.queues.sent.clear()
    pointer = {name: held_back[name] for name in ("gsi2pk", "gsi2sk")}
    world.table.write(Update(run.key, set=pointer))  # by the slow worker
    minutes_pass(world, 1)
    assert world.texts() == ["Hi", "Hello."]


def test_ended_pause_is_forgotten_after_all_work_was_resumed() -> None:
    world = answering()
    switch(world, "tenant", "runs", on=True)
    switch(world, "tenant", "runs", on=False)
    minutes_pass(world, int(RESUMING / timedelta(minutes=1)) + 1)
    tenants, _ = world.app.pauses.get(TENANT)
    assert (tenants.since, tenants.ended_at) == ({}, None)


@pytest.mark.parametrize("scope", ["tenant", "stack"])
def test_pause_of_more_than_a_day_is_counted_each_hour(scope: str) -> None:
    world = answering()
    switch(world, scope, "texts", on=True)
    minutes_pass(world, 24 * 60, step=30)
    assert world.metrics.counts["PausesForgotten"] == 0
    minutes_pass(world, 3 * 60, step=30)
    assert world.metrics.counts["PausesForgotten"] == 3
    switch(world, scope, "texts", on=False)
    minutes_pass(world, 3 * 60, step=30)
    assert world.metrics.counts["PausesForgotten"] == 3


def test_pause_switched_twice_keeps_its_start() -> None:
    world = answering()
    switch(world, "tenant", "runs", on=True)
    world.clock.advance(60)
    switch(world, "tenant", "runs", on=True)
    tenants, _ = world.app.pauses.get(TENANT)
    assert tenants.since == {"runs": NOON}


def test_change_of_settings_keeps_pauses() -> None:
    world = answering()
    for scope in ("tenant", "stack"):
        switch(world, scope, "runs", on=True)
    world.app.tenant_settings.change(TENANT, TenantOverridesChange(apology=False))
    world.app.stack_settings.change(StackOverridesChange(context_enabled=False))
    tenants, stacks = world.app.pauses.get(TENANT)
    assert tenants.pauses("runs")
    assert stacks.pauses("runs")
    minutes_pass(world, 25 * 60, step=10)
    assert world.metrics.counts["PausesForgotten"] == 2


@pytest.mark.parametrize("scope", ["tenant", "stack"])
def test_texts_during_pause_go_afterwards_in_order(scope: str) -> None:
    world = Texting()
    switch(world, scope, "texts", on=True)
    jobs = [world.say(f"Text {number}") for number in range(5)]
    for job in jobs:
        world.deliver(job)
    world.queues.sent.clear()
    minutes_pass(world, 120)
    assert world.sms.bodies == []
    assert not [one for one in world.queues.sent if isinstance(one.job, DeliveryJob)]
    assert {world.delivery(job).reason for job in jobs} == {Reason.PAUSED}
    switch(world, scope, "texts", on=False)
    minutes_pass(world, 2)
    assert world.sms.bodies == [f"Text {number}" for number in range(5)]
    assert {world.delivery(job).reason for job in jobs} == {None}


def test_text_after_pause_waits_for_its_predecessor() -> None:
    world = Texting()
    first, second = world.say("One"), world.say("Two")
    switch(world, "tenant", "texts", on=True)
    world.deliver(second)
    world.clock.advance(3_600)
    switch(world, "tenant", "texts", on=False)
    world.tick()
    after = world.delivery(second)
    assert waits_for(world.delivery(first), after, world.clock.now())


def test_text_whose_pause_ended_before_the_tick_is_sent_at_once() -> None:
    world = Texting()
    switch(world, "tenant", "texts", on=True)
    job = world.say("One")
    world.deliver(job)
    switch(world, "tenant", "texts", on=False)
    delivery = world.deliver(job)
    assert (delivery.status, delivery.paused, delivery.reason) == ("sent", None, None)


@pytest.mark.parametrize("scope", ["tenant", "stack"])
def test_pause_of_background_work_asks_the_model_for_no_memories(scope: str) -> None:
    world = World()
    world.agent()
    world.chat(HUSAM, COACH, consolidate=True, respond="manual")
    world.post("Hi", HUSAM)
    world.drain()
    switch(world, scope, "background", on=True)
    hours_pass(world, 12)
    assert not world.model.memory_requests
    switch(world, scope, "background", on=False)
    hours_pass(world, 2)
    assert world.model.memory_requests


def hours_pass(world: World, hours: int) -> None:
    for _ in range(hours):
        world.clock.advance(3_600)
        world.find_quiet()
        world.tick()
        world.drain()
