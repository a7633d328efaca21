"""Widgets over the API: what operators set, and what anybody may read."""

from dataclasses import replace

import pytest

from tests.support.web_chat import NEW, SHOP, Shop


@pytest.fixture
def page() -> Shop:
    return Shop()


def test_public_words_of_a_widget_have_what_visitors_read_and_nothing_else(page: Shop) -> None:
    consent = {"text": "We keep your words for 30 days."}
    widget_id = page.widget(greeting="Hello!", starters=["Open today?"], consent=consent)

    answer = page.public(widget_id)

    assert answer.status == 200
    assert answer.body == {
        "id": widget_id,
        "agent_id": "agt_a",
        "name": "Shop",
        "ways": [{"label": "Call us", "url": "tel:+15005550006"}],
        "greeting": "Hello!",
        "starters": ["Open today?"],
        "consent": {"text": "We keep your words for 30 days.", "url": None, "required": True},
        "consent_version": 1,
        "theme": {"color": None, "scheme": "auto", "side": "end"},
    }


@pytest.mark.parametrize(
    "origin",
    [None, "null", "https://shop.example.evil.example", "http://shop.example", f"{SHOP}:8443"],
)
def test_page_of_another_origin_is_refused(page: Shop, origin: str | None) -> None:
    assert page.public(page.widget(), origin).status == 403


def test_widget_that_is_unknown_deleted_or_off_is_not_found(page: Shop) -> None:
    off, deleted = page.widget(enabled=False), page.widget()
    assert page.owner.delete(f"/v1/widgets/{deleted}").status == 204
    for widget_id in ("wgt_0", "wgt_%23", off, deleted):
        assert page.public(widget_id).status == 404


def test_deployment_without_web_chat_has_no_widget_for_pages() -> None:
    page = Shop(web_chat=False)
    assert page.public(page.widget()).status == 404


@pytest.mark.parametrize(
    "origin",
    [
        "https://*.shop.example",
        "*",
        "http://shop.example",
        "https://shop.example/",
        "https://shop.example/chat",
        "https://Shop.example",
        "http://localhost:3000",  # outside of the local stack
    ],
)
def test_origin_that_is_not_exact_and_https_is_refused(page: Shop, origin: str) -> None:
    given = NEW | {"origins": [origin]}
    assert page.owner.call("POST", "/v1/widgets", given).status == 422
    changed = page.owner.patch(f"/v1/widgets/{page.widget()}", {"origins": [origin]})
    assert changed.status == 422


def test_another_consent_text_raises_its_version(page: Shop) -> None:
    widget_id = page.widget(consent={"text": "Old"})
    for consent, version in (({"text": "Old"}, 1), ({"text": "New"}, 2), (None, 3)):
        changed = page.owner.patch(f"/v1/widgets/{widget_id}", {"consent": consent})
        assert (changed.status, changed.body["consent_version"]) == (200, version)
    again = page.owner.patch(f"/v1/widgets/{widget_id}", {"enabled": False})
    assert (again.body["consent_version"], again.body["enabled"]) == (3, False)


def test_widget_of_an_unknown_agent_is_refused(page: Shop) -> None:
    assert page.owner.call("POST", "/v1/widgets", NEW | {"agent_id": "agt_x"}).status == 422
    support = replace(page.owner, scope="support")
    assert support.call("POST", "/v1/widgets", NEW).status == 403
