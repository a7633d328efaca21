"""What operators see of pauses, and how they switch them."""

import pytest

from skein.errors import Unavailable
from tests.support.api_client import Answer, Client, operator, recorded
from tests.support.builders import World

NONE = {"runs": None, "texts": None, "background": None}


def test_pauses_are_shown_for_tenant_and_stack() -> None:
    world = World()
    admin = operator(world)
    assert admin.get("/v1/pauses").body == {"tenant": NONE, "stack": NONE}
    world.app.stack_settings.switch("texts", on=True)
    answer = admin.put("/v1/pauses/runs", {})
    assert answer.status == 200
    assert answer.body["tenant"]["runs"].startswith("2026-02-18T12:00:00")
    assert answer.body["stack"]["texts"].startswith("2026-02-18T12:00:00")
    assert admin.get("/v1/pauses").body == answer.body
    ended = admin.delete("/v1/pauses/runs")
    assert (ended.status, ended.body["tenant"]) == (200, NONE)


def test_pause_of_unknown_work_is_refused() -> None:
    assert operator(World()).put("/v1/pauses/weekends", {}).status == 422


def test_pauses_of_one_tenant_do_not_show_in_another() -> None:
    world = World()
    operator(world).put("/v1/pauses/runs", {})
    other = operator(world, tenant="other").get("/v1/pauses").body
    assert other["tenant"] == NONE


def test_switch_of_a_pause_is_audited_with_its_work() -> None:
    world = World()
    admin = operator(world)
    admin.put("/v1/pauses/runs", {})
    admin.delete("/v1/pauses/runs")
    entries = admin.get("/v1/audit", day="2026-02-18").body["items"]
    seen = [(e["verb"], e["kind"], e["ids"], e["route"].split(" ")[0]) for e in entries]
    assert ("change", "pause", {"kind": "runs"}, "PUT") in seen
    assert ("delete", "pause", {"kind": "runs"}, "DELETE") in seen


def health(world: World) -> Answer:
    event = recorded("api_docs")
    event["rawPath"] = event["requestContext"]["http"]["path"] = "/healthz"
    return Client(world).send(event)


def test_health_shows_pauses_of_the_stack() -> None:
    world = World()
    assert health(world).body == {"status": "ok", "paused": []}
    world.app.stack_settings.switch("runs", on=True)
    assert health(world).body == {"status": "ok", "paused": ["runs"]}


def test_health_without_the_table_is_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def broken(*_: object) -> None:
        raise Unavailable("throttled")

    monkeypatch.setattr(world.table, "get", broken)
    assert health(world).body == {"status": "ok", "paused": None}
