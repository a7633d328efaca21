"""The life of each resource whose routes `Crud` makes, from its creation to its end.

The resources are found in the code, and their requests in `calls.py`. What is special about one of
them is tested in its own module.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest

import admin_api
import mobile_api
from routes.crud import Crud
from routes.router import TakesKey
from tests.matrix.calls import ROUTES, Route, caller
from tests.matrix.tenant_data import Neighbours
from tests.support.api_client import Answer, Client, everything

FORGED = ("x", "e30", "eyJvZiI6Im93bmVkIiwiYWZ0ZXIiOiJNRVRBIn0", "é")  # cursors of no list
REQUIRED = {"CannedAnswerChange", "MemoryChange", "PlanChange"}  # changes that name their field
ENDS = ("ended_at", "deleted_at")  # of resources that are kept when they end


def _cruds() -> Iterator[Crud[Any, Any]]:
    for api in (admin_api.api, mobile_api.api):
        for name in api.modules:
            values = vars(import_module(f"routes.{name}")).values()
            yield from (each for each in values if isinstance(each, Crud))


CRUDS = {each._path.replace("<", "{").replace(">", "}"): each for each in _cruds()}
each_resource = pytest.mark.parametrize("path", sorted(CRUDS))


@dataclass(frozen=True)
class Resource:
    """A kind of resource in a world, and the calls to it.

    Attributes:
        path: The path of one resource, as in the document of the API.
    """

    world: Neighbours
    path: str

    @cached_property
    def routes(self) -> dict[str, Route]:
        """The routes of the list and of one resource, by method and kind of path."""
        kinds = {self.path.rpartition("/")[0]: "all", self.path: "one"}
        kinds[f"{self.path}/restore"] = "restored"
        return {f"{each.method} {kinds[each.path]}": each for each in ROUTES if each.path in kinds}

    @property
    def client(self) -> Client:
        return caller(self.world, self.routes["POST all"])

    @property
    def list_path(self) -> str:
        return self.routes["POST all"].request(self.world.ours.own).path

    @property
    def id_field(self) -> str:
        return CRUDS[self.path]._made

    def body(self, route: str) -> dict[str, Any]:
        """Return a body that fits a route."""
        return dict(self.routes[route].request(self.world.ours.own).body or {})

    def call(self, route: str, item_id: str = "", body: object = None, **headers: str) -> Answer:
        """Call a route, for one resource if an id is given."""
        known = self.routes[route].request(self.world.ours.own)
        path = f"{self.list_path}/{item_id}" if item_id else known.path
        path += "/restore" * route.endswith("restored")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        method = route.partition(" ")[0]
        return self.client.call(method, path, body, query=known.query, headers=named)

    def made(self) -> tuple[str, dict[str, Any]]:
        """Create one, and return its id and the response."""
        answer = self.call("POST all", body=self.body("POST all"))
        assert answer.status == 201, answer.body
        return answer.body[self.id_field], answer.body

    def shown(self, item_id: str) -> dict[str, Any]:
        """Return one, as `GET` shows it."""
        answer = self.call("GET one", item_id)
        assert answer.status == 200, answer.body
        return dict(answer.body)

    def listed(self, **query: Any) -> dict[str, dict[str, Any]]:
        """Return all that the list shows, by id."""
        query |= self.routes["GET all"].request(self.world.ours.own).query
        items = self.client.all_pages(self.list_path, **query)
        found = {item[self.id_field]: item for item in items}
        assert len(found) == len(items)
        return found


@pytest.fixture
def resource(path: str) -> Resource:
    return Resource(Neighbours(), path)


def test_resources_are_found() -> None:
    assert len(CRUDS) >= 9


@each_resource
def test_resource_from_its_creation_to_its_end(resource: Resource) -> None:
    before = resource.listed()
    assert before
    item_id, made = resource.made()
    shown = resource.shown(item_id)
    assert shown.items() <= made.items()  # a response of `POST` may have a secret, too
    after = resource.listed(limit=1)
    assert after.keys() == before.keys() | {item_id}
    assert after[item_id].items() <= shown.items()  # a list may leave long texts out
    change = resource.body("PATCH one")
    changed = resource.call("PATCH one", item_id, change)
    assert changed.status == 200, changed.body
    expected = {name: value for name, value in change.items() if name in shown}
    assert expected.items() <= changed.body.items()
    assert resource.shown(item_id) == changed.body
    assert resource.call("DELETE one", item_id).status == 204
    gone = resource.call("GET one", item_id)
    if gone.status == 200:
        assert any(gone.body.get(name) is not None for name in ENDS)
    else:
        assert (gone.status, resource.call("DELETE one", item_id).status) == (404, 404)
        assert resource.listed().keys() == before.keys()
    if "POST restored" in resource.routes:
        restored = resource.call("POST restored", item_id)
        assert (restored.status, restored.body) == (200, changed.body)
        assert resource.listed().keys() == after.keys()


@each_resource
def test_change_of_nothing_changes_nothing(resource: Resource) -> None:
    item_id, _ = resource.made()
    shown = resource.shown(item_id)
    answers = {200 if resource.routes["PATCH one"].body not in REQUIRED else 422}
    for nothing in ({}, dict.fromkeys(resource.body("PATCH one"))):
        assert {resource.call("PATCH one", item_id, nothing).status} == answers, nothing
    refused = resource.call("PATCH one", item_id, resource.body("PATCH one") | {"unknown": 1})
    assert (refused.status, refused.code) == (422, "unprocessable")
    counted = dict.fromkeys(("version", "updated_at"))  # an edit of a document is one in any case
    assert resource.shown(item_id) | counted == shown | counted


@each_resource
def test_stale_version_is_409_where_changes_name_one(resource: Resource) -> None:
    item_id, made = resource.made()
    change = resource.body("PATCH one")
    if "version" not in made:
        change |= {"version": 1}
        assert resource.call("PATCH one", item_id, change).status == 422
        return
    assert resource.call("PATCH one", item_id, change | {"version": made["version"]}).status == 200
    shown = resource.shown(item_id)
    stale = resource.call("PATCH one", item_id, change | {"version": made["version"]})
    assert (stale.status, stale.code) == (409, "conflict")
    assert resource.shown(item_id) == shown


@each_resource
def test_resource_that_does_not_exist_is_404(resource: Resource) -> None:
    item_id, _ = resource.made()
    missing = item_id[:-1] + ("0" if item_id[-1] != "0" else "1")
    before = everything(resource.world)
    for route in sorted(resource.routes.keys() - {"POST all", "GET all", "PUT one"}):
        body = resource.body("PATCH one") if route == "PATCH one" else None
        answer = resource.call(route, missing, body)
        assert (answer.status, answer.code) == (404, "not_found"), route
    assert everything(resource.world) == before


@each_resource
def test_repeated_key_creates_nothing_and_another_request_with_it_is_409(
    resource: Resource,
) -> None:
    body, keyed = resource.body("POST all"), {"Idempotency_Key": "5f0c"}
    first = resource.call("POST all", body=body, **keyed)
    item_id = first.body[resource.id_field]
    known, shown = resource.listed().keys(), resource.shown(item_id)
    again = resource.call("POST all", body=body, **keyed)
    assert (again.status, again.body[resource.id_field]) in {(201, item_id), (200, item_id)}
    assert resource.listed().keys() == known
    middlewares = resource.routes["POST all"].middlewares
    if any(isinstance(each, TakesKey) for each in middlewares):
        texts = (name for name, value in body.items() if isinstance(value, str))
        changed = next(name for name in texts if name != "phone")
        other = resource.call("POST all", body=body | {changed: f"{body[changed]}7"}, **keyed)
        assert (other.status, other.code) == (409, "conflict")
    assert resource.shown(item_id) == shown


@each_resource
@pytest.mark.parametrize("cursor", FORGED)
def test_forged_cursor_is_400(resource: Resource, cursor: str) -> None:
    query = resource.routes["GET all"].request(resource.world.ours.own).query
    answer = resource.client.get(resource.list_path, **query | {"cursor": cursor})
    assert (answer.status, answer.code) == (400, "invalid")
