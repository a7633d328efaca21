"""Limits of visitors, widgets and networks, and a swarm that tries to use more."""

from typing import Any

import pytest

from skein.models.quotas.limit import HOUR, Rate
from skein.models.runs.completion import TokenUsage
from tests.support.api_client import Answer
from tests.support.fakes import ScriptedModel
from tests.support.web_chat import Shop, Visitor, anybody

WAYS = [{"label": "Call us", "url": "tel:+15005550006"}]


@pytest.fixture
def shop() -> Shop:
    return Shop()


def limits(**given: int) -> dict[str, Any]:
    return {"limits": {"visits_per_minute": 1_000, **given}}


def check_words(answer: Answer) -> None:
    assert answer.status == 429, answer.body
    details = answer.body["details"]
    assert answer.body["detail"].startswith("We can't take more messages")
    assert details["ways"] == WAYS
    assert details["retry_after_seconds"] >= 1


@pytest.mark.parametrize(("pause", "admitted"), [(0, 10), (6, 60)], ids=["minute", "day"])
def test_visitor_over_a_limit_gets_fixed_words_and_nothing_is_stored(
    shop: Shop, pause: int, admitted: int
) -> None:
    visitor = Visitor(shop, shop.widget())
    visitor.visit()
    for n in range(admitted):
        assert visitor.write(f"Message {n}", f"c{n}").status == 201
        shop.clock.advance(pause)
    before = shop.stored()
    refused = visitor.write("One more", "more")
    check_words(refused)
    assert shop.stored() == before
    assert visitor.write("Message 0", "c0").status == 200
    shop.clock.advance(refused.body["details"]["retry_after_seconds"])
    visitor.visit(renewal=visitor.kept["renewal"])
    assert visitor.write("One more", "more").status == 201


def test_widget_over_its_visits_or_messages_refuses_all_its_visitors(shop: Shop) -> None:
    few = {"limits": {"visits_per_minute": 2, "messages_per_day": 1}}
    first, second, third = (Visitor(shop, shop.widget(**few)) for _ in range(3))
    second.widget_id = third.widget_id = first.widget_id
    assert [each.visit().status for each in (first, second)] == [201, 201]
    check_words(third.visit())
    assert first.write().status == 201
    check_words(second.write())
    assert Visitor(shop, shop.widget()).visit().status == 201


@pytest.mark.check
def test_network_has_300_visits_an_hour_and_its_address_is_not_stored(shop: Shop) -> None:
    visitor = Visitor(shop, shop.widget(**limits()), source_ip="2001:db8:1:2::1")
    for n in range(300):
        visitor.source_ip = f"2001:db8:1:2::{n:x}"
        assert visitor.visit().status == 201
    check_words(visitor.visit())
    visitor.source_ip = "2001:db8:1:3::1"
    assert visitor.visit().status == 201
    stored = "".join(f"{key}{text}" for key, text in shop.table.all_stored().items())
    assert "2001:db8" not in stored
    networks = {key.pk for key in shop.table.all_keys() if "#network:" in key.pk}
    assert len(networks) == 2
    shop.clock.advance(86_400)
    visitor.visit()
    assert len({key.pk for key in shop.table.all_keys() if "#network:" in key.pk}) == 3


@pytest.mark.parametrize(
    ("header", "counted"), [("edge-key", "198.51.100.9"), ("wrong", "203.0.113.7")]
)
def test_viewer_behind_cloudfront_is_counted_if_cloudfront_proves_itself(
    header: str, counted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skein.web_chat.limits.OF_NETWORK", Rate(20, HOUR))
    shop = Shop(edge_secret="edge")
    shop.secret_values["edge"] = {"key": "edge-key"}
    path = f"/v1/widgets/{shop.widget(**limits())}/visits"
    forwarded = {"x-forwarded-for": "192.0.2.1, 198.51.100.9, 203.0.113.7"}
    for _ in range(20):
        given = {**forwarded, "x-skein-edge": header}
        assert anybody(shop, "POST", path, {}, headers=given).status == 201
    direct = anybody(shop, "POST", path, {}, source_ip=counted)
    assert direct.status == 429
    other = "203.0.113.7" if counted != "203.0.113.7" else "198.51.100.9"
    assert anybody(shop, "POST", path, {}, source_ip=other).status == 201


@pytest.mark.check
@pytest.mark.parametrize(
    ("networks", "visits"), [(20, 200), pytest.param(200, 10_000, marks=pytest.mark.slow)]
)
def test_swarm_spends_no_token_beyond_the_budget_and_leaves_counters(
    networks: int, visits: int
) -> None:
    budget, usage = 50_000, TokenUsage(input_tokens=2_900, output_tokens=100)
    model = ScriptedModel.saying(default="Hello!")
    model.used = usage
    shop = Shop(model=model)
    widget_id = shop.widget(**limits(tokens_per_day=budget))
    before, wrote, answers = shop.stored(), 0, set[int]()
    chats = set[str]()
    for n in range(visits):
        visitor = Visitor(shop, widget_id, source_ip=f"198.51.{n % networks}.1")
        answers.add(visitor.visit().status)
        if n % 4 == 0 and visitor.token:
            posted = visitor.write()
            answers.add(posted.status)
            if posted.status == 201:
                wrote += 1
                chats.add(visitor.kept["chat_id"])
                shop.drain()
        shop.clock.advance(0.01)
    used = shop.owner.get(f"/v1/widgets/{widget_id}/usage").body
    assert used["tokens_per_day"] == budget
    assert 0 < len(shop.model.requests) * 3_000 <= budget
    assert answers == {201, 429}
    assert shop.metrics.counts["VisitTokensNearLimit"] == 1
    left = [key for key in shop.stored().keys() - before.keys() if key.sk == "META"]
    assert len([key for key in left if "#CHAT#" in key.pk]) == len(chats) == wrote
    assert len([key for key in left if "#VISIT#" in key.pk]) == wrote
