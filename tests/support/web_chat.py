"""A business with a widget, and visitors of its pages."""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import admin_api
import authorizer
import mobile_api
from skein import bootstrap
from skein.models.common.storage import Key
from tests.support.api_client import Answer, Client, Context, recorded
from tests.support.builders import World

SHOP = "https://shop.example"
NEW: dict[str, Any] = {
    "agent_id": "agt_a",
    "origins": [SHOP],
    "public": {"name": "Shop", "ways": [{"label": "Call us", "url": "tel:+15005550006"}]},
}


@dataclass
class Shop(World):
    """An operator of a shop with an agent, and the pages of the shop."""

    web_chat: bool = True
    edge_secret: str = ""

    def __post_init__(self) -> None:
        own = {"web_chat": self.web_chat, "edge_secret": self.edge_secret}
        self.settings = self.settings.model_copy(update=own)
        super().__post_init__()
        self.agent()
        self.owner = Client(self, admin_api, sub="usr_op", scope="admin")

    def widget(self, **given: Any) -> str:
        answer = self.owner.call("POST", "/v1/widgets", NEW | given)
        assert answer.status == 201, answer.body
        widget_id: str = answer.body["id"]
        return widget_id

    def public(self, widget_id: str, origin: str | None = SHOP) -> Answer:
        return anybody(self, "GET", f"/v1/widgets/{widget_id}/public", origin=origin)

    def stored(self) -> dict[Key, str]:
        """Everything in the table but counters, the widgets and their agents."""
        apart = ("#LIMIT#", "WIDGET#", "#AGENT#", "#AUDIT#", "#AGENTS", "#USAGE#")
        return {
            key: text
            for key, text in self.table.all_stored().items()
            if not any(part in key.pk for part in apart)
        }


@dataclass
class Visitor:
    """A visitor of a page, with what the page keeps."""

    shop: Shop
    widget_id: str
    origin: str | None = SHOP
    source_ip: str = "203.0.113.7"
    token: str = ""
    kept: dict[str, Any] = field(default_factory=dict)

    def visit(self, **body: Any) -> Answer:
        """Open a visit, or renew it; remember what the page keeps."""
        path = f"/v1/widgets/{self.widget_id}/visits"
        answer = anybody(
            self.shop, "POST", path, body, origin=self.origin, source_ip=self.source_ip
        )
        if answer.status == 201:
            self.kept, self.token = answer.body, answer.body["token"]
        return answer

    @property
    def messages(self) -> str:
        return f"/v1/chats/{self.kept['chat_id']}/messages"

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        api: ModuleType = mobile_api,
        **query: Any,
    ) -> Answer:
        """Send a request with the token, which the authorizer checks first."""
        bootstrap.use(self.shop.app)
        event = recorded("authorizer")
        event["identitySource"] = [f"Bearer {self.token}"]
        found = authorizer.handler(event, Context(authorizer))["context"]  # type: ignore[arg-type]
        client = _Known(self.shop, api, found=found)
        headers = {"origin": self.origin} if self.origin is not None else {}
        return client.call(method, path, body, query=query, headers=headers)

    def write(self, text: str = "Are you open?", client_id: str = "c1") -> Answer:
        return self.call("POST", self.messages, {"text": text, "client_id": client_id})

    def read(self) -> list[str]:
        answer = self.call("GET", self.messages)
        assert answer.status == 200, answer.body
        return [each["text"] for each in answer.body["items"]]


@dataclass(frozen=True)
class _Known(Client):
    """A caller as the authorizer describes them."""

    found: dict[str, Any] = field(default_factory=dict)

    def send(self, event: dict[str, Any]) -> Answer:
        event["requestContext"]["authorizer"] = {"lambda": self.found}
        return super().send(event)


def anybody(
    world: World,
    method: str,
    path: str,
    body: Any = None,
    *,
    origin: str | None = SHOP,
    source_ip: str = "203.0.113.7",
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send a request without a token from a page of an origin."""
    client = _Nobody(world, mobile_api, source_ip=source_ip)
    given = (headers or {}) | ({"origin": origin} if origin is not None else {})
    return client.call(method, path, body, headers=given)


@dataclass(frozen=True)
class _Nobody(Client):
    """A caller whom no authorizer has seen."""

    source_ip: str = ""

    def send(self, event: dict[str, Any]) -> Answer:
        del event["requestContext"]["authorizer"]
        event["headers"].pop("authorization", None)
        event["requestContext"]["http"]["sourceIp"] = self.source_ip
        return super().send(event)
