"""What operators see of what models were asked."""

from typing import Any

import pytest

from skein.models.outbox.jobs import RunJob
from skein.models.quotas.usage import Payer
from skein.models.runs.completion import TokenUsage
from tests.support.api_client import operator
from tests.support.builders import LONG_INVOCATION, TENANT, World, bot, person
from tests.support.sms import Texting

DAY_SECONDS = 86_400


def test_a_days_answers_and_tokens_are_added_up_whichever_counter_they_are_in() -> None:
    world = World()
    for number in range(40):
        usage = TokenUsage(input_tokens=10, output_tokens=number, cached_tokens=8)
        world.app.usage.add(TENANT, usage, spread_by=f"run_{number}")
    answer = operator(world).get("/v1/usage")
    assert answer.status == 200
    assert answer.body == {
        "day": "2026-02-18",
        "answers": 40,
        "input_tokens": 400,
        "output_tokens": sum(range(40)),
        "cached_tokens": 320,
    }


def test_days_and_tenants_are_counted_apart() -> None:
    world = World()
    world.app.usage.add(TENANT, TokenUsage(input_tokens=1), spread_by="run_1")
    world.app.usage.add("other", TokenUsage(input_tokens=2), spread_by="run_1")
    world.clock.advance(DAY_SECONDS)
    admin = operator(world)
    assert admin.get("/v1/usage").body["answers"] == 0
    yesterday = admin.get("/v1/usage", day="2026-02-18").body
    assert (yesterday["day"], yesterday["input_tokens"]) == ("2026-02-18", 1)


def test_invalid_day_is_rejected() -> None:
    answer = operator(World()).get("/v1/usage", day="yesterday")
    assert answer.status == 422


# ---------------------------------------------------------------------- reports


PRICES = {
    "currency": "USD",
    "models": {"gpt-test": {"input": 2.5, "cached": 1.25, "output": 10}},
    "channels": {"sms": 0.0079},
}


def used(world: World, model: str, payer: Payer, **tokens: int) -> None:
    world.app.usage.add(
        TENANT, TokenUsage(**tokens), spread_by=f"run_{model}", model=model, payer=payer
    )


def reported(world: World, **query: str) -> Any:
    answer = operator(world).get("/v1/usage", **query)
    assert answer.status == 200, answer.body
    return answer.body


def test_report_by_agent_adds_up_each_agents_calls_and_tokens() -> None:
    world = World()
    used(world, "gpt-test", Payer("agt_a", "usr_1"), input_tokens=10, output_tokens=1)
    used(world, "gpt-test", Payer("agt_b", "usr_1"), input_tokens=100, output_tokens=10)
    used(world, "gpt-other", Payer("agt_b"), input_tokens=5, cached_tokens=4)
    report = reported(world, by="agent")
    assert [(row["key"], row["calls"], row["input_tokens"]) for row in report["rows"]] == [
        ("agt_b", 2, 105),
        ("agt_a", 1, 10),
    ]
    assert (report["from"], report["to"], report["by"]) == ("2026-02-18", "2026-02-18", "agent")
    total = {"calls": 3, "input_tokens": 115, "cached_tokens": 4, "output_tokens": 11}
    assert report["total"].items() >= total.items()
    assert report["total"]["money"] is None


def test_usage_report_by_user_omits_work_without_a_user() -> None:
    world = World()
    used(world, "gpt-test", Payer("agt_a", "usr_1"), input_tokens=10)
    used(world, "gpt-test", Payer("agt_a"), input_tokens=7)
    assert [row["key"] for row in reported(world, by="user")["rows"]] == ["usr_1"]


def test_report_by_day_covers_the_days_in_order_and_no_other_tenant() -> None:
    world = World()
    used(world, "gpt-test", Payer("agt_a"), input_tokens=1)
    world.clock.advance(DAY_SECONDS)
    used(world, "gpt-test", Payer("agt_a"), input_tokens=2)
    world.app.usage.add("other", TokenUsage(input_tokens=50), spread_by="run_1", model="m")
    report = reported(world, by="day", **{"from": "2026-02-18", "to": "2026-02-19"})
    assert [(row["key"], row["input_tokens"]) for row in report["rows"]] == [
        ("2026-02-18", 1),
        ("2026-02-19", 2),
    ]
    [only] = reported(world, by="tenant", **{"from": "2026-02-18"})["rows"]
    assert (only["key"], only["input_tokens"]) == (TENANT, 3)


def test_report_by_channel_counts_messages_only() -> None:
    world = World()
    used(world, "gpt-test", Payer("agt_a"), input_tokens=10)
    for channel, units in (("sms", 3), ("whatsapp", 1)):
        world.app.usage.add_texts(
            TENANT, Payer("agt_a"), channel, texts=1, units=units, spread_by="dlv_1"
        )
    rows = reported(world, by="channel")["rows"]
    assert [(row["key"], row["texts"], row["calls"]) for row in rows] == [
        ("sms", 1, 0),
        ("whatsapp", 1, 0),
    ]


def test_report_with_prices_states_money_and_the_models_without_a_price() -> None:
    world = World()
    admin = operator(world)
    assert admin.patch("/v1/settings", {"prices": PRICES}).status == 200
    million = 1_000_000
    used(world, "gpt-test-2026-01-01", Payer("agt_a"), input_tokens=million, cached_tokens=400_000)
    used(world, "gpt-test", Payer("agt_a"), output_tokens=million)
    used(world, "gpt-new", Payer("agt_a"), output_tokens=million)
    for channel in ("sms", "whatsapp"):
        world.app.usage.add_texts(
            TENANT, Payer("agt_a"), channel, texts=1, units=10, spread_by="dlv_1"
        )
    world.app.usage.add_tools(TENANT, Payer("agt_a"), ["a", "b"], 0.5, spread_by="run_1")
    total = reported(world, by="model")["total"]
    assert (total["tool_calls"], total["tool_cost"]) == (2, 0.5)
    assert total["money"] == {
        "currency": "USD",
        "amount": 12.579,  # 0.6 * 2.5 + 0.4 * 1.25 + 10 + 10 * 0.0079 + 0.5
        "unpriced_models": ["gpt-new"],
        "unpriced_channels": ["whatsapp"],
    }


@pytest.mark.parametrize(
    "query",
    [
        {"by": "agent", "from": "2026-02-18", "to": "2026-02-17"},
        {"by": "agent", "from": "2026-01-01", "to": "2026-02-18"},
        {"by": "agent", "day": "2026-02-18"},
        {"by": "weather"},
    ],
)
def test_report_with_days_that_do_not_fit_is_refused(query: dict[str, str]) -> None:
    assert operator(World()).get("/v1/usage", **query).status == 422


def test_report_of_a_run_counts_each_answer_once_when_its_job_is_repeated() -> None:
    world = World()
    world.agent()
    world.chat(person(), bot(), kind="direct", visibility="private")
    world.post("Hello", person())
    [waiting] = world.queues.waiting("turns")
    job = waiting.job
    assert isinstance(job, RunJob)
    world.drain()
    for _ in range(3):
        world.app.turns.take(job, deadline=world.clock.now() + LONG_INVOCATION)
    [row] = reported(world, by="user")["rows"]
    assert (row["key"], row["calls"]) == (person().id, 1)
    answers = operator(world).get("/v1/usage").body["answers"]
    assert answers == reported(world, by="agent")["total"]["calls"]  # with a summary


def test_report_counts_each_sms_once_when_its_job_and_its_status_are_repeated() -> None:
    world = Texting()
    job = world.say("a" * 200)
    for _ in range(3):
        world.deliver(job)
    world.later(job, seconds=61)
    report = reported(world, by="agent")
    assert report["total"]["channels"] == {"sms": {"texts": 1, "units": 2}}
