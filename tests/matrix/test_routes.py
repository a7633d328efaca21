"""No route tells or changes anything for other tenants, other scopes or those not in a chat."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, get_args

import pytest

from routes.app import ROLES, Role
from routes.document import openapi
from skein.models.common.storage import Key, Query
from skein.models.outbox.jobs import RecallJob
from skein.privacy.models.audit import AuditEntry
from tests.matrix.calls import ROUTES as ALL_ROUTES
from tests.matrix.calls import Request, Route, caller
from tests.matrix.tenant_data import NEW_LINE, STRANGER, TWIN, Neighbours, TenantData
from tests.support.api_client import Answer, Client, tells_who_looked
from tests.support.each import check_each
from tests.support.number_codes import prove

# The token of a link is the whole right, whoever calls: tests/unit/delivery/test_media_links.py.
# Pages read what a widget shows to everybody, and open visits, whose tokens alone open the calls of
# a visit: tests/handlers/test_widgets.py, tests/matrix/test_visits.py.
FOR_PAGES = {
    "GET /v1/m/{token}",
    "GET /v1/widgets/{widget_id}/public",
    "POST /v1/widgets/{widget_id}/visits",
    "GET /v1/visit",
    "DELETE /v1/visit",
    "POST /v1/visit/end",
}
ROUTES = [route for route in ALL_ROUTES if str(route) not in FOR_PAGES]
# Answers in which nothing of a tenant can be recognised; of all others the tests below know.
PLAIN = {
    "GET /v1/system",
    "GET /v1/system/backlog",
    "GET /v1/agent-templates",
    "GET /healthz",
    "GET /v1/settings",
    "GET /v1/settings/effective",
    "GET /v1/pauses",
    "GET /v1/usage",
    "GET /v1/widgets/{widget_id}/usage",
    "GET /v1/lines/{phone}",
    "GET /v1/erasures",
    "GET /v1/me/devices",
    "GET /v1/me/errands",
    "GET /v1/errands",
    "GET /v1/tools/{name}/offered",
    "GET /v1/users/{user_id}/erasure-preview",
    "GET /v1/sharing/why",  # names the sender, who asks about themselves here
    "GET /v1/sharing/why/{kind}/{item_id}",  # says what decided, and nothing of the item
    "GET /v1/erasures/{erasure_id}",
    "GET /v1/agents/{agent_id}/runs",
    "GET /v1/agents/{agent_id}/trials",
    "GET /v1/agents/{agent_id}/chats",
    "GET /v1/users/{user_id}/chats",
    "GET /v1/chats/{chat_id}/members",
    "GET /v1/transcripts",
    "GET /v1/chats/{chat_id}/messages/{seq}/reasons",
    "GET /v1/chats/{chat_id}/media/{media_id}",  # a URL, of which the marks are no part
    "GET /v1/transcripts/{chat_id}/media/{media_id}",
}
# Calls that make what they name, or name no thing of a tenant.
MADE_BY_NAME = {
    "PUT /v1/skills/{name}",
    "PUT /v1/pauses/{kind}",
    "DELETE /v1/pauses/{kind}",
    "POST /v1/me/phones/{phone}/code",
}
# Calls that name something which only they make, or which is only counted in the caller's tenant.
FREE_NAMES = {
    "PUT /v1/chats/{chat_id}/members/{kind}/{member_id}": {"member_id"},
    "DELETE /v1/chats/{chat_id}/members/{kind}/{member_id}": {"member_id"},
    "POST /v1/chats": {"member_id"},
    "GET /v1/agents/{agent_id}/recall": {"word"},
    "GET /v1/me/messages": {"word"},
    "PUT /v1/skills/{name}": {"skill_name"},
    "PUT /v1/users/{user_id}/phones/{phone}": {"own_phone"},
    "POST /v1/users/{user_id}/phones/{phone}/code": {"own_phone"},
    "DELETE /v1/users/{user_id}/phones/{phone}": {"own_phone"},
    "PUT /v1/me/phones/{phone}": {"own_phone"},
    "POST /v1/me/phones/{phone}/code": {"own_phone"},
}
# What members of a discarded chat may still do there; all else answers 404 or 409.
AFTERWARDS = {
    "GET /v1/chats/{chat_id}": 200,
    "DELETE /v1/chats/{chat_id}": 204,
    "GET /v1/chats/{chat_id}/members": 200,
    "GET /v1/chats/{chat_id}/messages": 200,
    "GET /v1/chats/{chat_id}/messages/{seq}/reasons": 200,
    "DELETE /v1/chats/{chat_id}/messages/{seq}": 204,
    "POST /v1/chats/{chat_id}/read": 200,
    "GET /v1/chats/{chat_id}/agents/{agent_id}": 200,
    "GET /v1/chats/{chat_id}/consolidations": 200,
    "GET /v1/chats/{chat_id}/documents": 200,
    "GET /v1/transcripts/{chat_id}": 200,
}
# The only call that takes something from a discarded chat: its members still read the message.
DELETES_WORDS = "DELETE /v1/chats/{chat_id}/messages/{seq}"
# What only owners of a chat may do there; other members get 403, and nothing happens.
OF_OWNERS = {
    "PATCH /v1/chats/{chat_id}",
    "DELETE /v1/chats/{chat_id}",
    "PATCH /v1/chats/{chat_id}/members/{kind}/{member_id}",
    "DELETE /v1/chats/{chat_id}/members/{kind}/{member_id}",
}
# What may still be asked of a deleted agent; all else answers 404.
OF_DELETED = {
    "DELETE /v1/agents/{agent_id}": 204,
    "GET /v1/agents/{agent_id}/runs": 200,
    "POST /v1/agents/{agent_id}/recall/rebuild": 202,  # takes the agent out of the index
}
# Chats and their messages outlive an agent: operators see the first words of its runs.
FIRST_WORDS = {"GET /v1/agents/{agent_id}/runs"}
# These take a deleted agent out of the index of recall.
CLEANING = {"DELETE /v1/agents/{agent_id}", "POST /v1/agents/{agent_id}/recall/rebuild"}
ABROAD = [STRANGER, "ACME", "acme#CHAT", TWIN]  # whose calls succeed: the last

guarded = [route for route in ROUTES if not route.public]


def each_subject(routes: Iterable[Route]) -> pytest.MarkDecorator:
    """Give a test the routes of one subject at a time, the first part of their paths, by name."""
    subjects: dict[str, dict[str, Route]] = {}
    for route in routes:
        subject = route.path.removeprefix("/v1/").strip("/").split("/")[0]
        subjects.setdefault(subject, {})[str(route)] = route
    return pytest.mark.parametrize("routes", list(subjects.values()), ids=list(subjects))


Routes = Mapping[str, Route]
TOO_MANY = 429  # would tell nothing about a call


@pytest.fixture
def world() -> Neighbours:
    return Neighbours()


class Worlds:
    """Worlds for several calls: each is used again until a call has changed it."""

    def __init__(self) -> None:
        self._last = Neighbours()

    def at_first(self) -> Neighbours:
        """A world in which nothing has happened but looks; it is new only if need be."""
        changed = [key for key, _ in self._last.changed()]
        looks = all(tells_who_looked(key) or "#LIMIT#" in key.pk for key in changed)
        if self._last.queues.sent or not looks:
            self._last = Neighbours()
        elif changed:
            self._last.begin()
        return self._last


@pytest.fixture
def worlds() -> Worlds:
    return Worlds()


def _told(answer: Answer, home: TenantData, request: Request) -> list[str]:
    """Which marks of a tenant an answer tells, but for those that were asked with."""
    assert answer.status != TOO_MANY
    text = json.dumps([answer.body, dict(answer.raw.get("headers") or {})], ensure_ascii=False)
    for given in request.given:
        text = text.replace(given, "")
    return [mark for mark in sorted(home.marks) if mark in text]


def _owned_changes(world: Neighbours, home: TenantData) -> list[str]:
    """What was changed of a tenant's things, but for who looked and how often."""
    return [
        f"{key.pk} {key.sk}"
        for key, item in world.changed()
        if home.owns(key, item) and not tells_who_looked(key) and "#LIMIT#" not in key.pk
    ]


def _items_changed(world: Neighbours) -> list[Key]:
    """What was changed, but for counts of calls."""
    return [key for key, _ in world.changed() if "#LIMIT#" not in key.pk]


def _happened(world: Neighbours) -> list[Any]:
    """What was changed, but for counts of calls, and what was queued."""
    return [*_items_changed(world), *world.queues.sent]


def _assert_nothing_happened(world: Neighbours) -> None:
    assert _happened(world) == []


def _audited(world: Neighbours) -> list[AuditEntry]:
    page = world.table.query(Query(AuditEntry.partition(world.ours.tenant, world.clock.now())))
    return [AuditEntry.from_item(item) for item in page.items]


def _assert_untouched(world: Neighbours, *homes: TenantData) -> None:
    for home in homes:
        assert _owned_changes(world, home) == []


# ---------------------------------------------------------------------- the right caller


@each_subject(ROUTES)
def test_authorized_caller_succeeds(worlds: Worlds, routes: Routes) -> None:
    """Otherwise the tests below would prove nothing."""
    check_each(routes, lambda route: _assert_succeeds(worlds.at_first(), route))


def _assert_succeeds(world: Neighbours, route: Route) -> None:
    ours = world.ours
    if route.body == "GivenCode":
        ann, phone = ours.people["ann"].id, ours.own["own_phone"]
        prove(world.table, world.clock, ann, phone, tenant=ours.tenant)
    request = route.request(world.ours.own)
    answer = route.send(caller(world, route), request)
    assert 200 <= answer.status < 300, answer.body
    if route.method == "GET" and str(route) not in PLAIN:
        assert _told(answer, world.ours, request)
    for neighbour in world.others:
        assert _told(answer, neighbour, request) == []
    _assert_untouched(world, *world.others)


# ---------------------------------------------------------------------- the query


@each_subject(route for route in ROUTES if route.query_names)
def test_route_with_a_documented_query_parameter_accepts_it(worlds: Worlds, routes: Routes) -> None:
    check_each(routes, lambda route: _assert_query_is_accepted(worlds, route))


def _assert_query_is_accepted(worlds: Worlds, route: Route) -> None:
    for name in set(route.query_names) - {"cursor"}:
        world = worlds.at_first()
        request = route.request(world.ours.own, queries=(name,))
        answer = route.send(caller(world, route), request)
        elsewhere = name in {"chat_id", "user_id"} and answer.status == 404  # in another scope
        other_values = name in {"kind", "status"} and "unknown parameter" not in str(answer.body)
        assert answer.status < 300 or elsewhere or other_values, (name, answer.body)


def test_each_route_documents_the_query_parameters_that_it_accepts() -> None:
    paths, accepted, documented, unprocessable = openapi.document()["paths"], {}, {}, {}
    for route in ROUTES:
        operation, name = paths[route.path][route.method.lower()], str(route)
        listed = operation.get("parameters", ())
        documented[name] = {each["name"] for each in listed if each["in"] == "query"}
        accepted[name] = route.api.api.query_names(route.method, route.path)
        unprocessable[name] = "422" in operation["responses"]
    assert accepted == documented
    assert documented == {str(route): set(route.query_names) for route in ROUTES}
    assert [name for name, listed in unprocessable.items() if not listed] == []


# ---------------------------------------------------------------------- the wrong tenant


@each_subject(guarded)
def test_call_of_another_tenant_returns_and_changes_no_data(worlds: Worlds, routes: Routes) -> None:
    check_each(routes, lambda route: _assert_other_tenants_get_nothing(worlds, route))


def _assert_other_tenants_get_nothing(worlds: Worlds, route: Route) -> None:
    for tenant in ABROAD:
        world = worlds.at_first()
        world.assign(NEW_LINE, tenant=tenant)
        request = route.request(world.ours.own)
        answer = route.send(caller(world, route, tenant=tenant), request)
        assert _told(answer, world.ours, request) == [], tenant
        _assert_untouched(world, world.ours)
        twin = world.others[1]
        no_key = route.role == "tokens" and tenant not in {STRANGER, TWIN}
        if tenant == TWIN and all(twin.own[n] == world.ours.own[n] for n in request.named):
            assert answer.status < 300, answer.body
        elif tenant != TWIN and route.names_something and str(route) not in MADE_BY_NAME:
            # An API key is of one tenant: a key that is claimed elsewhere is no key.
            expected = (401, "unauthenticated") if no_key else (404, "not_found")
            assert (answer.status, answer.code) == expected, tenant
            assert _items_changed(world) == [], tenant


@each_subject(guarded)
def test_ids_of_another_tenant_are_not_found(worlds: Worlds, routes: Routes) -> None:
    """One thing at a time is theirs, in path, query or body; everything else is one's own."""
    check_each(routes, lambda route: _assert_their_ids_are_not_found(worlds, route))


def _assert_their_ids_are_not_found(worlds: Worlds, route: Route) -> None:
    plain = route.request(worlds.at_first().ours.own)
    asked: list[tuple[str, tuple[str, ...]]] = [(name, ()) for name in sorted(plain.named)]
    asked += [(name, (name,)) for name in route.query_names if name in {"chat_id", "user_id"}]
    for (name, queries), neighbour in product(asked, (0, 1)):
        world = worlds.at_first()
        theirs = world.others[neighbour]
        if theirs.own[name] == world.ours.own[name]:
            continue
        request = _naming(route, world, theirs, name, queries)
        answer = route.send(caller(world, route), request)
        assert _told(answer, theirs, request) == [], (theirs.tenant, name)
        assert not queries or answer.status == 404, (theirs.tenant, name, answer.body)
        _assert_untouched(world, theirs)
        if not queries and name not in FREE_NAMES.get(str(route), ()):
            assert answer.status in {404, 409, 422}, (theirs.tenant, name, answer.body)
            _assert_untouched(world, world.ours)


def _naming(
    route: Route, world: Neighbours, theirs: TenantData, name: str, queries: tuple[str, ...]
) -> Request:
    """A request of ours that names one thing of theirs: in its query, if it is asked for there."""
    if not queries:
        return route.request(world.ours.own | {name: theirs.own[name]})
    request = route.request(world.ours.own)
    query = route.request(world.ours.own | {name: theirs.own[name]}, queries=queries).query
    return Request(request.path, request.body, query, request.named)


@each_subject(route for route in ROUTES if route.names_something)
def test_id_with_key_separators_is_rejected_or_not_found(worlds: Worlds, routes: Routes) -> None:
    """`#` stands between the parts of a key; an id with one reaches no other part."""
    check_each(routes, lambda route: _assert_separators_are_rejected(worlds, route))


def _assert_separators_are_rejected(worlds: Worlds, route: Route) -> None:
    world, asked = worlds.at_first(), list[Request]()
    for name in sorted(route.request(world.ours.own).named):
        for ending in ("#META", "#AUD#user:usr_qann", "%23META", "/../x"):
            request = route.request(world.ours.own | {name: world.ours.own[name] + ending})
            if request in asked:  # a path has `#` as `%23`
                continue
            asked.append(request)
            world = worlds.at_first()
            answer = route.send(caller(world, route), request)
            if name not in FREE_NAMES.get(str(route), ()):
                assert answer.status in {404, 422}, (name, ending, answer.body)
            _assert_untouched(world, *world.others)


@each_subject(route for route in ROUTES if "cursor" in route.query_names)
def test_foreign_cursor_returns_no_data_of_its_origin(worlds: Worlds, routes: Routes) -> None:
    """We ask with the cursors of all: the tenants are alike, so the reverse is the same."""
    check_each(routes, lambda route: _assert_cursors_return_no_data(worlds, route))


def _assert_cursors_return_no_data(worlds: Worlds, route: Route) -> None:
    plain = route.request(worlds.at_first().ours.own)
    for cursor in _cursors():
        world = worlds.at_first()
        query = {**plain.query, "cursor": cursor}
        request = Request(plain.path, plain.body, query, plain.named)
        answer = route.send(caller(world, route), request)
        assert answer.status in {200, 400}, answer.body
        for other in world.others:
            assert _told(answer, other, request) == []


def _ann_or_operator(home: TenantData, route: Route) -> str:
    return home.people["ann"].id if route.scope == "chat" else "usr_op"


@cache
def _cursors() -> tuple[str, ...]:
    """A real cursor of every list, in each tenant."""
    found = []
    for route in ROUTES:
        if "cursor" not in route.query_names:
            continue
        world = Neighbours()
        for home in (world.ours, *world.others):
            request = route.request(home.own)
            request = Request(request.path, request.body, {"limit": "1"}, request.named)
            if "limit" not in route.query_names:
                continue
            sub = _ann_or_operator(home, route)
            answer = route.send(caller(world, route, tenant=home.tenant, sub=sub), request)
            if answer.body.get("next_cursor"):
                found.append(answer.body["next_cursor"])
    assert len(found) >= 10
    return tuple(sorted(set(found)))


# ---------------------------------------------------------------------- unchanged lists


@each_subject(route for route in ROUTES if route.lists)
def test_list_answers_its_etag_with_304_until_it_changes(worlds: Worlds, routes: Routes) -> None:
    check_each(routes, lambda route: _assert_has_etag(worlds.at_first(), route))


def _assert_has_etag(world: Neighbours, route: Route) -> None:
    request, client = route.request(world.ours.own), caller(world, route)
    first = client.call("GET", request.path, query=request.query)
    tag = first.raw["headers"]["etag"]
    assert first.raw["headers"]["cache-control"] == "private, no-cache"
    if route.path == "/v1/audit":
        return  # each call adds an entry to the list
    for given, status, body in ((tag, 304, None), ('"x"', 200, first.body)):
        again = client.call(
            "GET", request.path, query=request.query, headers={"if-none-match": given}
        )
        assert (again.status, again.body) == (status, body)
        assert again.raw["headers"]["etag"] == tag
    operation = openapi.document()["paths"][route.path]["get"]
    assert "content" not in operation["responses"]["304"]
    assert "If-None-Match" in {each["name"] for each in operation["parameters"]}


def test_list_has_the_etag_in_any_spelling_until_another_item_comes(world: Neighbours) -> None:
    path = f"/v1/chats/{world.ours.own['chat_id']}/messages"
    client = Client(world, sub=world.ours.people["ann"].id, claims={"name": "Ann"})
    tag = client.get(path).raw["headers"]["etag"]
    for given in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        assert client.call("GET", path, headers={"if-none-match": given}).status == 304
    for given in ('"x"', tag.strip('"'), ""):
        assert client.call("GET", path, headers={"if-none-match": given}).status == 200
    client.post(path, {"text": "One more", "client_id": "more"})
    changed = client.call("GET", path, headers={"if-none-match": tag})
    assert (changed.status, changed.raw["headers"]["etag"] != tag) == (200, True)
    gone = client.call("GET", f"{path}x", headers={"if-none-match": "*"})
    assert gone.status == 404


def test_request_of_no_list_has_no_etag(world: Neighbours) -> None:
    client = Client(world, sub=world.ours.people["ann"].id, claims={"name": "Ann"})
    answer = client.call("GET", "/v1/me", headers={"if-none-match": "*"})
    assert (answer.status, "etag" in answer.raw["headers"]) == (200, False)


# ---------------------------------------------------------------------- refused calls


@dataclass(frozen=True)
class Refused:
    """A call that is refused before anything is done.

    Attributes:
        case: What is wrong with it.
        changes: What the caller has in place of what the route asks for.
        answer: The status and the code.
        unknown: The names of query parameters that the route does not know.
    """

    case: str
    changes: dict[str, Any]
    answer: tuple[int, str]
    unknown: tuple[str, ...] = ()


FORBIDDEN, UNKNOWN_CALLER = (403, "forbidden"), (401, "unauthenticated")
UNPROCESSABLE = (422, "unprocessable")
OTHER_SCOPE = {"chat": "admin", "admin": "chat"}
NO_CALLERS: list[dict[str, Any]] = [
    {"sub": None}, {"tenant": None}, {"sub": ""}, {"tenant": ""}, {"sub": ["x"]},
]  # fmt: skip


def _refused(route: Route) -> Iterator[Refused]:
    """Calls of a route that are refused before anything is done, one of each kind."""
    handler_names = route.api.api.parameters_of(route.method, route.path)
    odd = {"unknown", "", "Limit", "limit[]", "limit ", *handler_names} - set(route.query_names)
    yield Refused("unknown parameters", {}, UNPROCESSABLE, tuple(sorted(odd)))
    if route.public:
        return
    other = {"scope": OTHER_SCOPE[route.scope]}
    yield Refused("unknown parameter of a stranger", other, FORBIDDEN, ("unknown",))
    yield Refused("unknown parameter of nobody", {"tenant": ""}, UNKNOWN_CALLER, ("unknown",))
    yield Refused("other scope", other, FORBIDDEN)
    yield Refused("no caller", {"sub": None}, UNKNOWN_CALLER)


def _spelled(scope: str) -> Iterator[Refused]:
    """Calls with each spelling of other scopes than `scope`, and of no caller."""
    other = OTHER_SCOPE[scope]
    for spelling in (other, "", None, "chats admins", "*", f"{other} {scope}s", [other]):
        yield Refused(f"scope {spelling!r}", {"scope": spelling}, FORBIDDEN)
    for claims in NO_CALLERS:
        yield Refused(f"claims {claims}", {"claims": claims}, UNKNOWN_CALLER)


def _assert_refused(world: Neighbours, route: Route, refused: Refused) -> None:
    """A call is answered as it is to be, which tells nothing and leaves nothing."""
    request = route.request(world.ours.own)
    query = request.query | dict.fromkeys(refused.unknown, "10")
    request = Request(request.path, request.body, query, request.named)
    if _happened(world):  # by the case before, which has failed
        world.queues.sent.clear()
        world.begin()
    answer = route.send(caller(world, route, **refused.changes), request)
    assert _told(answer, world.ours, request) == []
    assert _happened(world) == []
    assert (answer.status, answer.code) == refused.answer
    if refused.answer == UNPROCESSABLE:
        reasons = [
            {"where": ["query", name], "why": "unknown parameter"} for name in refused.unknown
        ]
        assert answer.body["details"]["reasons"] == reasons


@each_subject(ROUTES)
def test_rejected_call_reveals_and_changes_no_data(worlds: Worlds, routes: Routes) -> None:
    check_each(routes, lambda route: _assert_refusals(worlds.at_first(), route))


def _assert_refusals(world: Neighbours, route: Route) -> None:
    cases = {refused.case: refused for refused in _refused(route)}
    check_each(cases, lambda refused: _assert_refused(world, route, refused))
    if route.scope == "admin":
        _assert_other_roles_are_refused(world, route)


@pytest.mark.parametrize("scope", OTHER_SCOPE)
def test_call_with_other_scopes_or_claims_is_rejected(world: Neighbours, scope: str) -> None:
    """Of one route of each API: both are checked before the route is known."""
    route = next(route for route in guarded if route.scope == scope)
    cases = {refused.case: refused for refused in _spelled(scope)}
    check_each(cases, lambda refused: _assert_refused(world, route, refused))


def _assert_other_roles_are_refused(world: Neighbours, route: Route) -> None:
    """An operator with all other roles gets nothing, and the refusal is audited."""
    assert route.role in get_args(Role)
    request = route.request(world.ours.own)
    others = " ".join(role for role in ROLES if role not in route.roles)
    answer = route.send(caller(world, route, scope=others), request)
    assert (answer.status, answer.code) == FORBIDDEN
    assert _told(answer, world.ours, request) == []
    entry = _audited(world)[-1]
    assert (entry.refused, entry.route, entry.scope) == (True, str(route), route.role)
    assert _owned_changes(world, world.ours) == []


@each_subject(route for route in ROUTES if route.role == "support")
def test_support_scope_reveals_no_private_content(worlds: Worlds, routes: Routes) -> None:
    check_each(routes, lambda route: _assert_nothing_private_is_told(worlds.at_first(), route))


def _assert_nothing_private_is_told(world: Neighbours, route: Route) -> None:
    ours = world.ours
    private = {ours.words[name] for name in ("anns", "pair", "joined")} | {ours.profile_word}
    places = [{}, *(ours.places[name].ids for name in ("anns", "pair"))]
    queries = [name for name in ("user_id", "chat_id") if name in route.query_names]
    asked: list[Request] = []
    for ids, query in product(places, [(), *((name,) for name in queries)]):
        request = route.request(ours.own | ids, queries=query)
        if request in asked:  # it names nothing of the place
            continue
        asked.append(request)
        answer = route.send(caller(world, route, scope="support"), request)
        assert not private & set(_told(answer, ours, request)), (ids, query)


# ---------------------------------------------------------------------- not in the chat


@each_subject(route for route in ROUTES if route.scope == "chat")
def test_routes_of_a_chat_reveal_nothing_to_others(worlds: Worlds, routes: Routes) -> None:
    """Cara never was, Dan has left, and an agent's id is no person's."""
    check_each(routes, lambda route: _assert_others_see_nothing(worlds, route))


def _assert_others_see_nothing(worlds: Worlds, route: Route) -> None:
    for who in ("cara", "dan", "coach", "somebody"):
        world = worlds.at_first()
        known = world.ours.people | world.ours.agents
        sub = known[who].id if who in known else "usr_somebody"
        request = route.request(world.ours.own)
        answer = route.send(caller(world, route, sub=sub), request)
        mine = {"cara": {"pair", "left"}}.get(who, set())
        others = {word for name, word in world.ours.words.items() if name not in mine}
        assert not others & set(_told(answer, world.ours, request)), who
        if "chat_id" in {*route.path_names, *request.named}:
            assert (answer.status, answer.code) == (404, "not_found"), who
            _assert_nothing_happened(world)
        elif "phone" in route.path_names:
            assert answer.status in {202, 404, 409}, who  # nobody has a code for it
        elif {"device_id", "rule_id"} & {*route.path_names}:
            assert answer.status == 404, who
        else:
            assert answer.status < 300, who


@each_subject(route for route in ROUTES if route.scope == "chat" and "chat_id" in route.path_names)
def test_member_of_one_chat_cannot_access_other_chats_of_its_agent(
    worlds: Worlds, routes: Routes
) -> None:
    check_each(routes, lambda route: _assert_ben_has_no_access(worlds.at_first(), route))


def _assert_ben_has_no_access(world: Neighbours, route: Route) -> None:
    for name in ("anns", "pair", "designers", "left"):
        request = route.request(
            world.ours.own | {"chat_id": world.ours.places[name].ids["chat_id"]}
        )
        answer = route.send(caller(world, route, sub=world.ours.people["ben"].id), request)
        assert (answer.status, answer.code) == (404, "not_found"), name
        _assert_nothing_happened(world)


# ---------------------------------------------------------------------- no owner of the chat


@each_subject(route for route in ROUTES if route.scope == "chat" and "chat_id" in route.path_names)
def test_member_without_ownership_is_403_only_on_owner_routes(
    worlds: Worlds, routes: Routes
) -> None:
    check_each(routes, lambda route: _assert_only_owners_may(worlds.at_first(), route))


def _assert_only_owners_may(world: Neighbours, route: Route) -> None:
    request = route.request(world.ours.own | {"member_id": world.ours.people["ann"].id})
    answer = route.send(caller(world, route, sub=world.ours.people["ben"].id), request)
    assert answer.status != TOO_MANY
    if str(route) not in OF_OWNERS:
        assert "only an owner" not in str(answer.body)
        return
    assert (answer.status, answer.code) == (403, "forbidden")
    assert _owned_changes(world, world.ours) == []
    assert _audited(world)[-1].refused


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("role", ["owner", "support"])
@pytest.mark.parametrize("route", [r for r in ROUTES if str(r) in OF_OWNERS], ids=str)
def test_operator_acts_as_owner_only_in_chats_without_owner(
    world: Neighbours, route: Route, role: str, owned: bool
) -> None:
    ours = world.ours
    chat_id = ours.own["chat_id"]
    if not owned:
        ann = ours.people["ann"].ref
        world.app.chat_admin.set_role(ours.tenant, chat_id, ann, ann, "member")
    there = caller(world, route, sub="usr_op", scope=f"chat {role}")
    answer = route.send(there, request := route.request(ours.own))
    assert (answer.status < 300) == (role == "owner" and not owned), answer.body
    assert not {ours.words["team"]} & set(_told(answer, ours, request))


# ---------------------------------------------------------------------- discarded and deleted


@each_subject(route for route in ROUTES if "chat_id" in route.path_names)
def test_routes_of_discarded_chat_are_refused_and_change_nothing(
    worlds: Worlds, routes: Routes
) -> None:
    check_each(routes, lambda route: _assert_refused_in_discarded(worlds.at_first(), route))


def _assert_refused_in_discarded(world: Neighbours, route: Route) -> None:
    discarded = world.ours.places["discarded"].ids
    there = dict.fromkeys(("chat_id", "desk_chat_id", "direct_chat_id"), discarded["chat_id"])
    request = route.request(world.ours.own | there)
    answer = route.send(caller(world, route), request)
    if str(route) in AFTERWARDS:
        assert answer.status == AFTERWARDS[str(route)]
    else:
        assert answer.status in {404, 409}, answer.body
    if str(route) == DELETES_WORDS:
        return
    changed = [
        key.sk for key, _ in world.changed() if "#AUDIT#" not in key.pk and "#LIMIT#" not in key.pk
    ]
    own = f"MEMBER#user#{world.ours.people['ann'].id}"
    assert changed in ([], [own] if str(route).endswith("/read") else [])
    assert world.queues.sent == []


@each_subject(route for route in ROUTES if "agent_id" in route.path_names)
def test_routes_of_a_deleted_agent_reveal_nothing(world: Neighbours, routes: Routes) -> None:
    world.app.agents.delete(world.ours.tenant, world.ours.own["agent_id"])
    check_each(routes, lambda route: _assert_reveals_nothing_of_deleted(world, route))


def _assert_reveals_nothing_of_deleted(world: Neighbours, route: Route) -> None:
    agent_id = world.ours.own["agent_id"]
    world.queues.sent.clear()
    world.begin()
    request = route.request(world.ours.own)
    answer = route.send(caller(world, route), request)
    assert answer.status == OF_DELETED.get(str(route), 404), answer.body
    words = set(world.ours.words.values()) if str(route) in FIRST_WORDS else set()
    assert set(_told(answer, world.ours, request)) <= words
    assert [key for key in _items_changed(world) if not tells_who_looked(key)] == []
    cleaned = [agent_id] if str(route) in CLEANING else []
    jobs = [waiting.job for waiting in world.queues.sent]
    assert [job.agent_id for job in jobs if isinstance(job, RecallJob)] == cleaned
    assert len(jobs) == len(cleaned)
