"""People of the team who hold chats, in tests."""

from typing import Any

import admin_api
from skein.models.chats.chat import Chat
from tests.support.api_client import WHY, Answer, Client
from tests.support.builders import TENANT, World


class Desk:
    """A person of the team and the desk of one chat."""

    def __init__(
        self, world: World, chat_id: str = "chat_1", *, sub: str = "op_mia", name: str = "Mia"
    ) -> None:
        claims = {"name": name}
        self.world, self.chat_id = world, chat_id
        self.client = Client(world, api=admin_api, sub=sub, scope="admin", claims=claims)
        self.path = f"/v1/chats/{chat_id}/desk"

    @property
    def chat(self) -> Chat:
        item = self.world.table.get(Chat.key_of(TENANT, self.chat_id))
        assert item is not None
        return Chat.from_item(item)

    def get(self) -> Answer:
        return self.client.get(self.path)

    def take(self, reason: str | None = WHY, **body: Any) -> Answer:
        given = {"holder": "me"} | body
        query = {"reason": reason} if reason is not None else {}
        return self.client.call("PUT", self.path, given, query=query)

    def say(self, text: str, client_id: str | None = None) -> Answer:
        body = {"text": text, "client_id": client_id or text}
        return self.client.post(f"{self.path}/messages", body)

    def read(self) -> list[str]:
        page = self.client.get(f"{self.path}/messages")
        assert page.status == 200, page.body
        return [f"{each['sender']['name']}: {each['text']}" for each in page.body["items"]]

    def hand_back(self, briefing: str = "") -> Answer:
        return self.client.call("DELETE", self.path, {"briefing": briefing})

    def dismiss(self, **body: Any) -> Answer:
        return self.client.call("DELETE", self.path, {"dismiss": True, **body})
