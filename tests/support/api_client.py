"""Calls the API's handlers with the gateway's own event shapes, taken from `events/`."""

import json
from base64 import b64encode
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

import admin_api
import mobile_api
from skein import bootstrap
from skein.models.common.storage import Key
from skein.privacy.models.audit import Access
from tests.support.builders import TENANT, World
from tests.support.template import function_name

PROBLEM_FIELDS = {"type", "title", "status", "detail", "code", "details", "request_id"}
EVENTS = Path(__file__).resolve().parents[2] / "events"


class Context:
    """What Lambda tells a function about its invocation."""

    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:api"
    aws_request_id = "52fdfc07-2182-154f-163f-5f0f9a621d72"
    log_group_name = "/aws/lambda/api"
    log_stream_name = "2026/02/18/[$LATEST]52fdfc07"

    def __init__(self, function: ModuleType) -> None:
        self.function_name = function_name(function)

    def get_remaining_time_in_millis(self) -> int:
        return 29_000


def recorded(name: str) -> dict[str, Any]:
    """The payload `events/<name>.json`."""
    event: dict[str, Any] = json.loads(_text(name))
    return event


@cache
def _text(name: str) -> str:
    return (EVENTS / f"{name}.json").read_text()


@dataclass(frozen=True)
class Answer:
    """What the gateway would pass on."""

    status: int
    body: Any
    raw: dict[str, Any] = field(repr=False)

    @property
    def code(self) -> str:
        """The error code in the problem."""
        assert set(self.body) == PROBLEM_FIELDS
        return str(self.body["code"])


def _body(answer: dict[str, Any]) -> Any:
    """The values of a JSON body; another body as text."""
    text = answer.get("body")
    headers = {name.lower(): value for name, value in (answer.get("headers") or {}).items()}
    if not text or "yaml" in headers.get("content-type", ""):
        return text
    return json.loads(text)


@dataclass(frozen=True)
class Client:
    """Somebody who calls one of the APIs in a world."""

    world: World
    api: ModuleType = mobile_api
    sub: str = "usr_husam"
    tenant: str = TENANT
    scope: Any = "chat"
    claims: dict[str, Any] = field(default_factory=lambda: {"name": "Husam"})
    source: str = "issuer"

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: dict[str, Any] | None = None,
        raw: str | bytes | None = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send a request; `raw` is the body as it stands, bytes go in base64."""
        event = recorded("mobile_api")
        event["rawPath"] = event["requestContext"]["http"]["path"] = path
        event["requestContext"]["http"]["method"] = method
        event["requestContext"]["authorizer"]["lambda"] |= {
            "source": self.source,
            "claims": {
                "sub": self.sub,
                "tenant": self.tenant,
                "scope": self.scope,
                **self.claims,
            },
        }
        event["rawQueryString"] = urlencode(query or {})
        if query:
            event["queryStringParameters"] = {name: str(value) for name, value in query.items()}
        event["headers"] |= {"content-type": content_type} | (headers or {})
        event["isBase64Encoded"] = isinstance(raw, bytes)
        if isinstance(raw, bytes):
            event["body"] = b64encode(raw).decode()
        elif raw is not None or body is not None:
            event["body"] = raw if raw is not None else json.dumps(body)
        else:
            del event["body"]
        return self.send(event)

    def send(self, event: dict[str, Any]) -> Answer:
        """Send an event as it is."""
        bootstrap.use(self.world.app)
        answer = self.api.handler(event, Context(self.api))
        return Answer(answer["statusCode"], _body(answer), answer)

    def get(self, path: str, **query: Any) -> Answer:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: object, **query: Any) -> Answer:
        return self.call("POST", path, body, query=query)

    def patch(self, path: str, body: object, **query: Any) -> Answer:
        return self.call("PATCH", path, body, query=query)

    def put(self, path: str, body: Any = None) -> Answer:
        return self.call("PUT", path, body)

    def delete(self, path: str, **query: Any) -> Answer:
        return self.call("DELETE", path, query=query)

    def all_pages(self, path: str, **query: Any) -> list[Any]:
        """Every item of a list, following its cursors."""
        items: list[Any] = []
        cursor: dict[str, Any] = {}
        for _ in range(1_000):
            page = self.get(path, **query, **cursor)
            assert page.status == 200, page.body
            items.extend(page.body["items"])
            if page.body["next_cursor"] is None:
                return items
            cursor = {"cursor": page.body["next_cursor"]}
        raise AssertionError("the list never ends")


WHY = "The complaint 4711"
"""A reason of an operator to read private content."""

# Every call that concerns one chat, with a body that fits.
CHAT_CALLS: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("GET", "/v1/chats/{chat}", None),
    ("PATCH", "/v1/chats/{chat}", {"title": "Mine"}),
    ("DELETE", "/v1/chats/{chat}", None),
    ("GET", "/v1/chats/{chat}/members", None),
    ("PUT", "/v1/chats/{chat}/members/user/usr_stranger", None),
    ("DELETE", "/v1/chats/{chat}/members/user/usr_husam", None),
    ("GET", "/v1/chats/{chat}/messages", None),
    ("POST", "/v1/chats/{chat}/messages", {"text": "Hi", "client_id": "1"}),
    ("DELETE", "/v1/chats/{chat}/messages/1", None),
    ("POST", "/v1/chats/{chat}/read", {"seq": 1}),
    ("POST", "/v1/chats/{chat}/runs", {"all": True}),
)


def everything(world: World) -> dict[Any, Any]:
    """All that is stored, but for who looked at it."""
    items = world.table.all_items().items()
    return {key: item for key, item in items if not tells_who_looked(key)}


def tells_who_looked(key: Key) -> bool:
    """Whether an item is an audit entry, or a person's record of an operator's look."""
    return "#AUDIT#" in key.pk or key.sk.startswith(Access.PREFIX)


def operator(world: World, tenant: str = TENANT) -> Client:
    """Somebody with the scope `admin`, and no other."""
    return Client(world, api=admin_api, sub="usr_op", tenant=tenant, scope="admin", claims={})
