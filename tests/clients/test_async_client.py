"""The Python clients: calls by subject, retries and answers, in the async and the sync client."""

import asyncio
import hashlib
import inspect
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, cast

import httpx2
import pytest

from skein_client import ApiError, AsyncClient, Client, NoAnswer, Unreachable
from tools import sync_client

URL = "http://api.example"
CHAT = "/v1/chats/chat_1"
PAGES: dict[str, list[list[Any]]] = {"/v1/chats": [[{"id": "a"}, {"id": "b"}], [{"id": "c"}]]}


class Api:
    """An API that answers as a test says, and its two clients.

    Attributes:
        failures: Statuses of the next responses; 0 for a lost connection.
        keys: The idempotency keys of the calls.
        answers: Messages that agents have written, by how many looks they take to come.
    """

    def __init__(self, kind: str) -> None:
        self.failures: list[int] = []
        self.calls: list[tuple[str, Any]] = []
        self.keys: list[str | None] = []
        self.answers: list[tuple[int, str, str]] = []
        self.looks = 0
        transport = httpx2.MockTransport(self._respond)
        self.client: Any
        if kind == "async":
            self.client = AsyncClient(URL, "t", http=httpx2.AsyncClient(transport=transport))
        else:
            self.client = Client(URL, "t", http=httpx2.Client(transport=transport))

    def _respond(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.startswith("/files/"):
            assert "authorization" not in request.headers
            assert request.headers["x-checksum"] == hashlib.sha256(request.content).hexdigest()
            return httpx2.Response(200)
        body: Any = json.loads(request.content) if request.content else None
        path = request.url.path
        self.calls.append((f"{request.method} {path}", body))
        self.keys.append(request.headers.get("idempotency-key"))
        if self.failures:
            status = self.failures.pop(0)
            if not status:
                raise httpx2.ConnectError("offline")
            return httpx2.Response(status, json={"code": "x", "detail": "no"})
        query = dict(request.url.params)
        if request.method == "GET" and path in PAGES:
            page = int(query.get("cursor", 0))
            last = page + 1 == len(PAGES[path])
            following = None if last else str(page + 1)
            return httpx2.Response(200, json={"items": PAGES[path][page], "next_cursor": following})
        if request.method == "GET" and path == f"{CHAT}/messages":
            self.looks += 1
            items = [
                {"seq": seq, "text": text, "sender": {"kind": kind}}
                for seq, (looks, kind, text) in enumerate(self.answers, 8)
                if looks <= self.looks and seq > int(query["after"])
            ]
            return httpx2.Response(200, json={"items": items, "next_cursor": None})
        if request.method != "POST":
            return httpx2.Response(200, json={"items": []})
        answer = {"seq": 7, **(body or {})}
        if path == "/v1/media":
            headers = {"x-checksum": body["sha256"]}
            answer = {"id": "med_1", "url": f"{URL}/files/1", "method": "PUT", "headers": headers}
        return httpx2.Response(201, json=answer)

    def get(self, result: Any) -> Any:
        """The result of a call, or the items of an iterator, of either client."""
        if inspect.isasyncgen(result):
            return asyncio.run(_collected(result))
        if inspect.iscoroutine(result):
            return asyncio.run(result)
        return list(result) if isinstance(result, Iterator) else result


async def _collected(items: AsyncIterator[Any]) -> Sequence[Any]:
    return [item async for item in items]


@pytest.fixture(params=["async", "sync"])
def api(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Api:
    async def pass_by(_: float) -> None:
        """Wait for nothing."""

    monkeypatch.setattr(asyncio, "sleep", pass_by)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return Api(cast("str", request.param))


def test_list_follows_its_pages(api: Api) -> None:
    assert [chat["id"] for chat in api.get(api.client.chats.list())] == ["a", "b", "c"]


CALLS: list[tuple[Callable[[Any], Any], str, Any]] = [
    (lambda c: c.agents.list(), "GET /v1/agents/directory", None),
    (lambda c: c.chats.get("chat_1"), f"GET {CHAT}", None),
    (lambda c: c.chats.change("chat_1", {"title": "X"}), f"PATCH {CHAT}", {"title": "X"}),
    (lambda c: c.chats.discard("chat_1"), f"DELETE {CHAT}", None),
    (lambda c: c.members.list("chat_1"), f"GET {CHAT}/members", None),
    (lambda c: c.members.add("chat_1", "user", "a/b"), f"PUT {CHAT}/members/user/a/b", None),
    (lambda c: c.members.remove("chat_1", "user", "a"), f"DELETE {CHAT}/members/user/a", None),
    (lambda c: c.messages.delete("chat_1", 3), f"DELETE {CHAT}/messages/3", None),
    (lambda c: c.messages.mark_read("chat_1", 3), f"POST {CHAT}/read", {"seq": 3}),
    (lambda c: c.media.link("chat_1", "med_1"), f"GET {CHAT}/media/med_1", None),
    (lambda c: c.choices.list(), "GET /v1/me/choices", None),
    (
        lambda c: c.choices.answer_invitation("chat_1", accept=True),
        f"POST {CHAT}/invitation",
        {"accept": True},
    ),
    (lambda c: c.agents.create({"name": "Iris"}), "POST /v1/agents", {"name": "Iris"}),
    (lambda c: c.agents.list_all(), "GET /v1/agents", None),
    (lambda c: c.agents.list_templates(), "GET /v1/agent-templates", None),
    (lambda c: c.agents.restore_version("a", 2), "POST /v1/agents/a/versions/2/restore", None),
    (lambda c: c.lines.delete("+1"), "DELETE /v1/lines/+1", None),
    (lambda c: c.plans.cancel("a", "p", user_id="u"), "DELETE /v1/agents/a/plans/p", None),
    (lambda c: c.desk.hand_back("chat_1", {}), f"DELETE {CHAT}/desk", {}),
    (
        lambda c: c.approvals.decide("w", {"decision": "approved"}),
        "POST /v1/approvals/w",
        {"decision": "approved"},
    ),
    (lambda c: c.tools.try_tool("t", {}), "POST /v1/tools/t/try", {}),
    (lambda c: c.users.list(q="Ann"), "GET /v1/users", None),
    (lambda c: c.search("the lake"), "GET /v1/me/messages", None),
    (lambda c: c.ticket(), "POST /v1/live", None),
]


@pytest.mark.parametrize(("call", "sent", "body"), CALLS, ids=[each[1] for each in CALLS])
def test_named_call_is_the_call_of_the_api(
    api: Api, call: Callable[[Any], Any], sent: str, body: Any
) -> None:
    for path in ("/v1/agents/directory", "/v1/agents", "/v1/users", f"{CHAT}/members"):
        PAGES.setdefault(path, [[]])
    if sent == "POST /v1/live":
        body = None
        api.failures = [503]
        with pytest.raises(ApiError):  # a ticket is not repeated
            api.get(call(api.client))
    else:
        api.get(call(api.client))
    assert api.calls == [(sent, body)]


@pytest.mark.parametrize("failure", [0, 429, 500, 503])
def test_message_gets_an_id_and_is_repeated_with_it(api: Api, failure: int) -> None:
    api.failures = [failure, failure]
    posted = api.get(api.client.messages.post("chat_1", "Hello", reply_to=2))
    assert posted["seq"] == 7
    assert len(api.calls) == 3
    assert len({body["client_id"] for _, body in api.calls}) == 1
    api.failures = [failure] * 3
    with pytest.raises((ApiError, Unreachable)):
        api.get(api.client.messages.post("chat_1", "Hello"))
    ids = {body["client_id"] for _, body in api.calls}
    assert len(ids) == 2


def test_post_is_repeated_with_one_key_and_each_call_has_its_own(api: Api) -> None:
    api.failures = [0, 503]
    for _ in range(2):
        api.get(api.client.call("POST", "/v1/agents", {"name": "Iris"}))
    first, *again, second = api.keys
    assert first is not None
    assert (again, second != first) == ([first, first], True)


@pytest.mark.parametrize("path", ["/v1/tools/a/try", "/v1/runs/a/replay"])
def test_post_that_runs_again_is_not_repeated(api: Api, path: str) -> None:
    api.failures = [503]
    with pytest.raises(ApiError):
        api.get(api.client.call("POST", path))
    assert len(api.calls) == 1


@pytest.mark.parametrize("failure", [400, 401, 403, 404, 409, 422])
def test_refused_call_is_not_repeated(api: Api, failure: int) -> None:
    api.failures = [failure]
    with pytest.raises(ApiError):
        api.get(api.client.chats.open("agt_1"))
    assert len(api.calls) == 1


def test_question_waits_for_the_first_answer_that_no_person_wrote(api: Api) -> None:
    api.answers = [(1, "user", "Me too"), (3, "agent", "Yes"), (3, "agent", "Really")]
    answer = api.get(api.client.chats.ask("chat_1", "Does it hurt?", client_id="mine"))
    assert (answer["text"], api.looks) == ("Yes", 3)
    assert api.calls[0] == (f"POST {CHAT}/messages", {"text": "Does it hurt?", "client_id": "mine"})


def test_question_without_an_answer_in_time_names_its_message(api: Api) -> None:
    with pytest.raises(NoAnswer) as waiting:
        api.get(api.client.chats.ask("chat_1", "Does it hurt?", seconds=0))
    assert cast("Any", waiting.value.message)["seq"] == 7


def test_file_is_uploaded_without_the_token_and_named_by_a_message(api: Api) -> None:
    media = api.get(api.client.media.upload("chat_1", b"%PDF", "application/pdf"))
    api.get(api.client.messages.post("chat_1", None, media=[media]))
    sent = api.calls[0][1]
    assert (sent["chat_id"], sent["type"], sent["bytes"]) == ("chat_1", "application/pdf", 4)
    assert api.calls[1][1]["media"] == ["med_1"]


def test_token_function_may_be_async() -> None:
    async def token() -> str:
        return "fresh"

    seen: list[str] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers["authorization"])
        return httpx2.Response(200, json={"items": []})

    async def ask() -> None:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(respond))
        async with AsyncClient(URL, token, http=http) as one:
            await one.choices.list()

    asyncio.run(ask())
    assert seen == ["Bearer fresh"]


def test_sync_modules_are_generated_from_the_async_ones() -> None:
    """Else run `make client-types`."""
    for path, text in sync_client.sync_texts().items():
        assert path.read_text(encoding="utf-8") == text, path.name


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_client_without_arguments_reads_the_environment(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKEIN_URL", raising=False)
    monkeypatch.delenv("SKEIN_TOKEN", raising=False)
    with pytest.raises(ValueError, match="SKEIN_TOKEN"):
        kind()
    monkeypatch.setenv("SKEIN_TOKEN", "of the environment")
    assert (kind()._url, kind()._token) == ("http://127.0.0.1:8787", "of the environment")
    monkeypatch.setenv("SKEIN_URL", f"{URL}/")
    assert (kind()._url, kind("http://other", "given")._url) == (URL, "http://other")
    assert kind(token="given")._token == "given"
