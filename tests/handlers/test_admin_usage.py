"""What operators see of what models were asked."""

from skein.models.runs.completion import TokenUsage
from tests.support.api_client import operator
from tests.support.builders import TENANT, World

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


def test_a_day_that_is_none_is_refused() -> None:
    answer = operator(World()).get("/v1/usage", day="yesterday")
    assert answer.status == 422
