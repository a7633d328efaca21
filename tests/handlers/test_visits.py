"""Visits of a web page: opening, writing, renewing, ending and erasing them."""

from datetime import timedelta
from typing import Any

import pytest

from skein.identity.models.visit import Visit
from skein.models.chats.chat import Chat
from skein.models.directory.user import User
from tests.support.api_client import Client
from tests.support.builders import TENANT, person
from tests.support.web_chat import Shop, Visitor


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def visitor(shop: Shop) -> Visitor:
    return Visitor(shop, shop.widget())


def test_visit_stores_nothing_before_the_first_message(shop: Shop, visitor: Visitor) -> None:
    before = shop.stored()
    opened = visitor.visit()
    assert (opened.status, opened.body["started"]) == (201, False)
    assert visitor.call("GET", "/v1/visit").body["status"] == "new"
    assert visitor.call("POST", "/v1/live").status == 404
    assert visitor.call("DELETE", "/v1/visit").body["status"] == "erased"
    assert visitor.call("POST", "/v1/visit/end").status == 204
    assert shop.stored() == before


def test_first_message_makes_the_visitor_and_the_chat_and_is_answered(
    shop: Shop, visitor: Visitor
) -> None:
    visitor.visit()
    posted = visitor.write()
    assert posted.status == 201, posted.body
    shop.drain()
    assert visitor.read() == ["Are you open?", "Hello!"]
    again = visitor.write()
    assert (again.status, again.body["seq"]) == (200, 1)
    visitor_id = visitor.kept["visitor_id"]
    chat = Chat.read(shop.table, Chat.key_of(TENANT, visitor.kept["chat_id"]))
    assert chat is not None
    assert (chat.kind, chat.visibility, chat.last_seq) == ("direct", "private", 2)
    assert chat.person_ids == (visitor_id,)
    assert visitor.call("POST", f"/v1/chats/{chat.id}/read", {"seq": 2}).body["unread"] == 0
    assert visitor.call("POST", "/v1/live").status == 201


def test_changed_tools_of_a_widget_reach_its_chats_with_the_next_run(
    shop: Shop, visitor: Visitor
) -> None:
    visitor.visit()
    offered = []
    for number, tools in enumerate((["search_knowledge"], ["ask_choice"], [])):
        change = {"tools": tools}
        path = f"/v1/widgets/{visitor.widget_id}"
        assert shop.owner.call("PATCH", path, change).status == 200
        visitor.write(client_id=f"c{number}")
        shop.drain()
        offered.append([tool.name for tool in shop.model.requests[-1].tools])
    assert offered == [["search_knowledge"], ["ask_choice"], []]


def test_token_expires_after_an_hour_and_the_renewal_keeps_the_chat(
    shop: Shop, visitor: Visitor
) -> None:
    visitor.visit()
    visitor.write()
    shop.clock.advance(3_600)
    assert visitor.call("GET", visitor.messages).status == 401
    renewed = visitor.visit(renewal=visitor.kept["renewal"])
    assert (renewed.status, renewed.body["started"]) == (201, True)
    assert visitor.read()[0] == "Are you open?"


def test_renewal_repeated_at_once_gives_the_same_answer(shop: Shop, visitor: Visitor) -> None:
    visitor.visit()
    visitor.write()
    first = visitor.kept["renewal"]
    answer = visitor.visit(renewal=first)
    shop.clock.advance(59)
    assert visitor.visit(renewal=first).body == answer.body


@pytest.mark.parametrize("used", [False, True])
def test_renewal_repeated_later_or_after_the_new_one_ends_the_visit(
    shop: Shop, visitor: Visitor, used: bool
) -> None:
    visitor.visit()
    visitor.write()
    first = visitor.kept["renewal"]
    second = visitor.visit(renewal=first).body["renewal"]
    if used:
        assert visitor.visit(renewal=second).status == 201
    else:
        shop.clock.advance(61)
    assert visitor.visit(renewal=first).status == 401
    assert visitor.visit(renewal=visitor.kept["renewal"]).status == 401
    assert visitor.call("GET", visitor.messages).status == 401


def test_visit_without_a_message_is_replaced_and_not_renewed(visitor: Visitor) -> None:
    first = visitor.visit().body
    second = visitor.visit(renewal=first["renewal"]).body
    assert second["started"] is False
    assert first["visitor_id"] != second["visitor_id"]
    assert first["chat_id"] != second["chat_id"]


def test_two_visitors_never_see_each_others_words(shop: Shop, visitor: Visitor) -> None:
    shop.attach_feed()
    visitor.visit()
    visitor.write("My order is 4711")
    other = Visitor(shop, visitor.widget_id)
    other.visit()
    other.write("Hello")
    shop.drain()
    assert "My order is 4711" not in other.read()
    for call in (
        ("GET", visitor.messages, None),
        ("POST", visitor.messages, {"text": "Hi", "client_id": "x"}),
        ("POST", f"/v1/chats/{visitor.kept['chat_id']}/read", {"seq": 1}),
    ):
        assert other.call(*call).status == 404
    stranger = Visitor(shop, shop.widget())
    assert stranger.visit(renewal=visitor.kept["renewal"]).status == 401
    ticket = other.call("POST", "/v1/live").body["ticket"]
    shop.app.live_connections.connect(ticket, "conn_other")
    visitor.write("It is blue", "c2")
    other.write("And you?", "c2")
    shop.drain()
    frames = str(shop.sockets.frames("conn_other"))
    assert "And you?" in frames
    assert "It is blue" not in frames


@pytest.mark.parametrize("origin", [None, "https://evil.example"])
def test_calls_of_a_visit_check_the_origin(visitor: Visitor, origin: str | None) -> None:
    visitor.visit()
    visitor.write()
    visitor.origin = origin
    assert visitor.call("GET", visitor.messages).status == 403
    assert visitor.visit().status == 403


@pytest.mark.parametrize("change", [{"enabled": False}, {"origins": ["https://a.example"]}, None])
def test_change_of_the_widget_counts_from_the_next_call(
    shop: Shop, visitor: Visitor, change: dict[str, Any] | None
) -> None:
    visitor.visit()
    visitor.write()
    path = f"/v1/widgets/{visitor.widget_id}"
    if change is None:
        assert shop.owner.delete(path).status == 204
    else:
        assert shop.owner.patch(path, change).status == 200
    assert visitor.call("GET", visitor.messages).status in {401, 403}


@pytest.mark.parametrize("part", [0, 1])
def test_forged_token_is_refused(visitor: Visitor, part: int) -> None:
    visitor.visit()
    halves = visitor.token.split(".")
    for wrong in ("A", "B"):
        halves[part] = halves[part][:-1] + wrong
        if ".".join(halves) != visitor.token:
            break
    visitor.token = ".".join(halves)
    assert visitor.call("GET", "/v1/visit").status == 401
    visitor.visit()
    visitor.token = visitor.kept["renewal"]
    assert visitor.call("GET", "/v1/visit").status == 401


def test_consent_is_required_and_stored_with_the_first_message(shop: Shop) -> None:
    visitor = Visitor(shop, shop.widget(consent={"text": "We keep your words."}))
    refused = visitor.visit()
    assert (refused.status, refused.body["details"]) == (403, {"consent_version": 1})
    assert visitor.visit(consent=1).status == 201
    visitor.write()
    key = Visit.key_of(TENANT, visitor.kept["visitor_id"])
    stored = Visit.read(shop.table, key)
    assert stored is not None
    assert stored.consent == 1

    shop.owner.patch(f"/v1/widgets/{visitor.widget_id}", {"consent": {"text": "Other words."}})

    renewal = visitor.kept["renewal"]
    assert visitor.visit(renewal=renewal).body["details"] == {"consent_version": 2}
    assert visitor.visit(renewal=renewal, consent=2).status == 201


def test_operators_list_visitors_apart_and_export_the_consent(shop: Shop) -> None:
    visitor = Visitor(shop, shop.widget(consent={"text": "We keep your words."}))
    visitor.visit(consent=1)
    visitor.write()
    shop.known(person())
    who, path = visitor.kept["visitor_id"], "/v1/users"
    members, visitors = shop.owner.get(path), shop.owner.get(path, kind="visitor")
    assert [[each["id"] for each in page.body["items"]] for page in (members, visitors)] == [
        [person().id],
        [who],
    ]
    assert shop.owner.get(path, kind="visitor", q="Visitor").status == 422
    visit = shop.owner.get(f"{path}/{who}/export").body["visit"]
    assert (visit["widget_id"], visit["consent"]) == (visitor.widget_id, 1)
    assert shop.owner.get(f"{path}/{person().id}/export").body["visit"] is None


def test_ended_visit_is_refused_and_its_chat_stays(shop: Shop, visitor: Visitor) -> None:
    visitor.visit()
    visitor.write()
    assert visitor.call("POST", "/v1/visit/end").status == 204
    assert visitor.call("GET", visitor.messages).status == 401
    assert visitor.visit(renewal=visitor.kept["renewal"]).status == 401
    assert Chat.read(shop.table, Chat.key_of(TENANT, visitor.kept["chat_id"])) is not None


def test_erasure_ends_the_visit_and_says_when_it_is_done(shop: Shop, visitor: Visitor) -> None:
    visitor.visit()
    visitor.write("My name is Paola")
    shop.drain()
    erased = visitor.call("DELETE", "/v1/visit")
    assert (erased.status, erased.body["status"]) == (202, "erasing")
    assert visitor.write("More", "c2").status == 401
    assert visitor.visit(renewal=visitor.kept["renewal"]).status == 401
    for _ in range(40):
        shop.clock.advance(60)
        shop.tick()
        shop.drain()
    assert visitor.call("GET", "/v1/visit").body["status"] == "erased"
    assert visitor.call("DELETE", "/v1/visit").body["status"] == "erased"
    assert visitor.write("More", "c2").status == 401
    assert "Paola" not in str(shop.table.all_stored())


def test_visitor_who_was_not_seen_for_30_days_is_erased(shop: Shop, visitor: Visitor) -> None:
    visitor.visit()
    visitor.write()
    visitor_id = visitor.kept["visitor_id"]
    shop.clock.advance(timedelta(days=29).total_seconds())
    visitor.visit(renewal=visitor.kept["renewal"])
    for days, there in ((29, True), (2, False)):
        shop.clock.advance(timedelta(days=days).total_seconds())
        for _ in range(40):
            shop.clock.advance(60)
            shop.tick()
            shop.drain()
        assert (User.read(shop.table, User.key_of(TENANT, visitor_id)) is not None) is there


def test_known_person_opens_their_own_chat_with_their_own_token(
    shop: Shop, visitor: Visitor
) -> None:
    visitor.visit()
    visitor.write("As a visitor")
    husam = Client(shop)
    new = {
        "kind": "direct",
        "client_id": f"web:{visitor.widget_id}",
        "members": [{"kind": "agent", "id": "agt_a"}],
    }
    chat = husam.post("/v1/chats", new).body
    assert husam.post("/v1/chats", new).body["id"] == chat["id"]
    assert chat["id"] != visitor.kept["chat_id"]
    assert husam.get(f"/v1/chats/{visitor.kept['chat_id']}/messages").status == 404
    assert visitor.call("GET", f"/v1/chats/{chat['id']}/messages").status == 404
    assert husam.get("/v1/visit").status == 403
