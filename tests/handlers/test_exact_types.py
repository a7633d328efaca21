"""What a client sends is taken for what it is, or refused; never for something like it."""

from typing import Any

import pytest

from tests.support.api_client import Client, operator
from tests.support.builders import World, bot, person


@pytest.fixture
def world() -> World:
    world = World()
    world.agent()
    world.chat(person(), bot())
    return world


@pytest.mark.parametrize("given", [False, True, "5", "0", 5.5])
def test_value_of_another_type_for_a_number_is_422(world: World, given: Any) -> None:
    admin = operator(world)
    for method, path, body in (
        ("PATCH", "/v1/settings", {"message_days": given}),
        ("PATCH", "/v1/agents/agt_a", {"settings": {"message_history_limit": given}}),
        ("POST", "/v1/agents", {"name": "A", "settings": {"max_context_tokens": given}}),
        ("POST", "/v1/agents", {"name": "A", "max_concurrent_runs": given}),
        ("POST", "/v1/agents/agt_a/goals", {"text": "Win", "priority": given}),
    ):
        assert admin.call(method, path, body).status == 422, path
    assert Client(world).post("/v1/chats/chat_1/read", {"seq": given}).status == 422


@pytest.mark.parametrize("digits", [39, 400, 4_000, 5_000])
def test_number_with_more_digits_than_the_table_holds_is_refused(world: World, digits: int) -> None:
    body = f'{{"user_messages_per_minute": {"9" * digits}}}'
    assert operator(world).call("PATCH", "/v1/settings", raw=body).status in {400, 422}


def test_number_with_as_many_digits_as_the_table_holds_is_kept_and_used(world: World) -> None:
    body = {"user_messages_per_minute": 10**38 - 1, "tenant_messages_per_minute": 10**38 - 1}
    assert operator(world).patch("/v1/settings", body).status == 200
    posted = Client(world).post("/v1/chats/chat_1/messages", {"text": "Hi", "client_id": "1"})
    assert posted.status == 201


@pytest.mark.parametrize("given", [0, 1, "true", "no", 1.0])
def test_value_of_another_type_for_a_boolean_is_422(world: World, given: Any) -> None:
    admin = operator(world)
    for method, path, body in (
        ("PATCH", "/v1/settings", {"apology": given}),
        ("POST", "/v1/agents", {"name": "A", "settings": {"auto_summary": given}}),
        (
            "POST",
            "/v1/agents/agt_a/memories",
            {"kind": "core", "text": "A", "constitutional": given},
        ),
        ("POST", "/v1/agents/agt_a/goals", {"text": "Win", "long_term": given}),
    ):
        assert admin.call(method, path, body).status == 422, path
    chats = Client(world)
    assert chats.patch("/v1/chats/chat_1", {"consolidate": given}).status == 422
    assert chats.post("/v1/chats/chat_1/runs", {"all": given}).status == 422


@pytest.mark.parametrize("given", [False, True, "5", -0.5, 100.5])
def test_percentage_of_wrong_type_or_range_is_422(world: World, given: Any) -> None:
    answer = operator(world).patch("/v1/settings", {"context_rollout_percent": given})
    assert answer.status == 422


@pytest.mark.parametrize(
    ("given", "taken"), [(0, 0), (0.5, 0.5), (12.34, 12.34), (33.3333, 33.33), (1e-300, 0)]
)
def test_a_share_of_the_people_may_be_a_fraction(world: World, given: float, taken: float) -> None:
    """As for the stack and the environment; it is stored as a number of two digits."""
    admin = operator(world)
    answer = admin.patch("/v1/settings", {"context_rollout_percent": given})
    assert (answer.status, answer.body["context_rollout_percent"]) == (200, taken)
    assert admin.get("/v1/settings").body["context_rollout_percent"] == taken


def test_value_of_the_right_type_is_accepted(world: World) -> None:
    admin = operator(world)
    answer = admin.patch("/v1/settings", {"context_rollout_percent": 5.0, "apology": False})
    assert (answer.status, answer.body["context_rollout_percent"]) == (200, 5)
    assert answer.body["apology"] is False
    goal = {"text": "Win", "priority": 1, "long_term": True}
    assert admin.post("/v1/agents/agt_a/goals", goal).status == 201


@pytest.mark.parametrize("day", ["0", "1750000000", "2026-02-18T00:00:00", "2026-2-18", "today"])
def test_day_parameter_requires_iso_date(world: World, day: str) -> None:
    admin = operator(world)
    assert admin.get("/v1/audit", day=day).status == 422
    assert admin.get("/v1/agents/agt_a/runs", day=day).status == 422
    assert admin.get("/v1/audit", day="2026-02-18").status == 200
