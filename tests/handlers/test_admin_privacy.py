"""Erasure and export over the HTTP API for operators, and the erasure queue's messages."""

import json
from base64 import urlsafe_b64encode
from copy import deepcopy
from datetime import timedelta

import pytest

import admin_api
import background_worker
from skein.models.outbox.jobs import ErasureJob
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from skein.models.visibility.provenance import MadeFrom
from skein.privacy.export import ExportCursor
from tests.support.agents import COACH
from tests.support.api_client import Client, operator, recorded
from tests.support.builders import TENANT, World, bot
from tests.support.erasure import (
    BEN,
    ELSEWHERE,
    MARK,
    NUMBER,
    OPEN,
    ZOE,
    group,
    plant,
    settle,
    text,
    traces,
    world_of,
)
from tests.support.webhooks import invoke

JOB = recorded("background_worker_erasure")
PATH = f"/v1/users/{ZOE.id}"
EXPORT = f"{PATH}/export"


@pytest.fixture
def planted() -> World:
    return plant()


def pages_of(admin: Client) -> list[dict[str, object]]:
    pages: list[dict[str, object]] = []
    query: dict[str, object] = {}
    while True:
        answer = admin.get(EXPORT, **query)
        assert answer.status == 200
        pages.append(answer.body)
        if answer.body["next_cursor"] is None:
            return pages
        query = {"cursor": answer.body["next_cursor"]}


def test_an_erasure_is_asked_for_looked_at_and_reported(planted: World) -> None:
    admin = operator(planted)
    answer = admin.delete(PATH)
    assert answer.status == 202
    path = f"/v1/erasures/{answer.body['id']}"
    assert (answer.body["user_id"], answer.body["requested_by"]) == (ZOE.id, "usr_op")
    assert admin.get(path).body["stage"] == "find"
    assert admin.delete(PATH).body["id"] == answer.body["id"]
    settle(planted)
    resting = admin.get(path).body
    assert resting["stage"] == "resting"
    assert resting["finished_at"] is None
    first, again = resting["sweeps"][0]["ended_at"], resting["sweep_again_at"]
    assert again > first
    planted.clock.advance(timedelta(minutes=17).total_seconds())
    planted.tick()
    settle(planted)
    report = admin.get(path).body
    assert report["stage"] == "done"
    assert report["finished_at"] is not None
    assert report["sweeps"][0]["counts"]["messages"] > 0
    assert "35 days" in report["backups"]
    assert MARK not in json.dumps(report)
    assert traces(planted) == {}


def test_list_erasures_shows_progress_then_the_report(planted: World) -> None:
    admin = operator(planted)
    assert admin.get("/v1/erasures").body == {"items": [], "next_cursor": None}
    erasure = admin.delete(PATH).body
    assert admin.get("/v1/erasures").body["items"] == [erasure]
    settle(planted)
    [resting] = admin.get("/v1/erasures").body["items"]
    assert (resting["stage"], resting["finished_at"]) == ("resting", None)
    planted.clock.advance(timedelta(minutes=17).total_seconds())
    planted.tick()
    settle(planted)
    [done] = admin.get("/v1/erasures").body["items"]
    assert done == admin.get(f"/v1/erasures/{erasure['id']}").body
    assert done["stage"] == "done"
    assert MARK not in json.dumps(done)


def test_preview_of_an_erasure_is_for_privacy_and_audited(planted: World) -> None:
    admin = operator(planted)
    found = admin.get(f"{PATH}/erasure-preview")
    assert found.status == 200
    assert found.body["erased"]["messages"] > 0
    assert found.body["complete"] is True
    support = Client(planted, api=admin_api, sub="usr_s", scope="support", claims={})
    assert support.get(f"{PATH}/erasure-preview").status == 403
    day = planted.clock.now().date().isoformat()
    entries = admin.get("/v1/audit", day=day).body["items"]
    [entry] = [each for each in entries if each["kind"] == "erasure" and not each["refused"]]
    assert (entry["verb"], entry["ids"]) == ("read", {"user_id": ZOE.id})


def test_erasure_keeps_its_decision_about_named_texts(planted: World) -> None:
    admin = operator(planted)
    assert admin.delete(PATH, named_texts="all").status == 422
    erasure = admin.delete(PATH, named_texts="replace").body
    assert erasure["named_texts"] == "replace"
    assert admin.delete(PATH).body["named_texts"] == "replace"


def test_list_erasures_needs_an_operator_of_the_tenant(planted: World) -> None:
    operator(planted).delete(PATH)
    assert operator(planted, tenant="other").get("/v1/erasures").body["items"] == []
    assert Client(planted, sub=BEN.id).get("/v1/erasures").status in {403, 404}
    assert operator(planted).get("/v1/erasures", limit=0).status == 422
    assert operator(planted).get("/v1/erasures", cursor="none").status == 400


def test_erase_or_export_unknown_user_is_404(planted: World) -> None:
    admin = operator(planted)
    for path in ("/v1/users/usr_none", "/v1/users/usr_none/export"):
        method = "GET" if path.endswith("export") else "DELETE"
        assert admin.call(method, path).status == 404
    assert admin.get("/v1/erasures/era_none").status == 404
    admin.delete(PATH)
    assert admin.get(PATH).status == 404
    assert admin.get(EXPORT).status == 404
    assert admin.patch(PATH, {"name": "Zed"}).status == 404


def test_export_contains_all_data_of_the_person_and_of_no_other(planted: World) -> None:
    [page] = pages_of(operator(planted))
    assert page["user"]["phones"] == [NUMBER]  # type: ignore[index]
    whole = json.dumps(page)
    for part in (
        f"I love {MARK}",
        f"In private: {MARK}",
        f"Text me about {MARK}",
        f"She loves {MARK}",
    ):
        assert part in whole
    assert "Good morning all" not in whole
    chats = {chat["chat_id"]: chat for chat in page["chats"]}  # type: ignore[attr-defined]
    assert OPEN in chats
    senders = {message["sender"]["id"] for message in page["messages"]}  # type: ignore[attr-defined]
    assert BEN.id not in senders
    kinds = {kept["kind"] for kept in page["kept"]}  # type: ignore[attr-defined]
    assert kinds >= {"goal", "plan", "memory"}
    assert {delivery["phone"] for delivery in page["deliveries"]} == {NUMBER}  # type: ignore[attr-defined]


def test_export_contains_visible_items_made_only_from_the_persons_messages() -> None:
    world = world_of()
    group(world, OPEN, ZOE, BEN)
    group(world, ELSEWHERE, BEN)
    hers, bens = (MadeFrom.messages(OPEN, seq, seq, [who.id]) for seq, who in ((1, ZOE), (2, BEN)))
    elsewhere = MadeFrom.messages(ELSEWHERE, 1, 1, [ZOE.id])
    for words, scope, made in (
        ("hers", None, hers),
        ("hers of two chats", None, hers.joined(elsewhere)),
        ("hers, but for Ben", f"user:{BEN.id}", hers),
        ("of both", None, hers.joined(bens)),
        ("of Ben", None, bens),
    ):
        people = () if scope is None else (BEN.id,)
        audience = Audience(open=scope is None, people=people)
        owner = Owner(
            tenant=TENANT, agent_id=COACH.id, scope=scope, audience=audience, made_from=made
        )
        world.app.goals.set(owner, words)
    [page] = pages_of(operator(world))
    kept = [(each["kind"], each["attributes"]["text"]) for each in page["kept"]]  # type: ignore[attr-defined]
    assert kept == [("goal", "hers"), ("goal", "hers of two chats")]


@pytest.mark.parametrize(("visibility", "title"), [("private", None), ("open", "Of now")])
def test_export_of_person_who_left_has_no_later_title_of_a_private_chat(
    visibility: str, title: str | None
) -> None:
    world = World()
    world.known(ZOE, BEN)
    world.chat(ZOE, BEN, visibility=visibility, title="Of now")
    world.app.chat_admin.remove_member(TENANT, "chat_1", ZOE.ref, ZOE.ref)
    [page] = pages_of(operator(world))
    assert [chat["title"] for chat in page["chats"]] == [title]  # type: ignore[attr-defined]


def test_a_long_export_comes_in_pages_that_leave_nothing_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("skein.privacy.export.MAX_PAGE_BYTES", 250_000)
    world = world_of()
    world.line()
    world.chat(ZOE, BEN)
    for n in range(40):
        world.post(f"{n}: {'x' * 9_000}", ZOE)
    pages = pages_of(operator(world))
    assert len(pages) > 1
    said = [m["text"].split(":")[0] for page in pages for m in page["messages"]]  # type: ignore[attr-defined]
    assert said == [str(n) for n in range(40)]


def test_a_cursor_of_another_list_is_refused(planted: World) -> None:
    admin = operator(planted)
    cursor = admin.get("/v1/users", limit=1).body["next_cursor"] or "nonsense"
    assert admin.get(EXPORT, cursor=cursor).status == 400


@pytest.mark.parametrize("place", [{"row": "nowhere", "key": "-"}, {"relation": -1}])
def test_a_forged_cursor_is_refused(planted: World, place: dict[str, object]) -> None:
    made = json.dumps({"of": "export", **place}).encode()
    forged = urlsafe_b64encode(made).decode().rstrip("=")
    assert operator(planted).get(EXPORT, cursor=forged).status == 400


def test_a_forged_cursor_leads_into_no_chat_that_the_person_was_never_in(planted: World) -> None:
    planted.chat(BEN, bot(), chat_id="chat_elsewhere", kind="direct", visibility="private")
    planted.post("For the agent alone", BEN, chat_id="chat_elsewhere")
    forged = ExportCursor(row="2026-02-18T12#chat_elsewhere", key="-").encode()
    assert "For the agent alone" not in str(operator(planted).get(EXPORT, cursor=forged).body)


def test_erasure_job_continues_the_erasure_and_unknown_erasure_is_ignored() -> None:
    world = world_of()
    text(world, f"I love {MARK}")
    settle(world)
    assert invoke(background_worker, world, JOB) == {"batchItemFailures": []}
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    event = deepcopy(JOB)
    event["Records"][0]["body"] = ErasureJob(tenant=TENANT, erasure_id=erasure.id).model_dump_json()
    assert invoke(background_worker, world, event) == {"batchItemFailures": []}
    # The recorded invocation has little time: it takes one step and hands on.
    assert world.app.erasures.get(TENANT, erasure.id).after is not None
    settle(world)
    assert world.app.erasures.get(TENANT, erasure.id).stage == "resting"
