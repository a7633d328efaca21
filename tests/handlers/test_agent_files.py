"""An agent as a file: export, import as a new agent, and update of an agent."""

import re
from typing import Any

import pytest
import yaml

import admin_api
import mobile_api
from tests.support.agents import settle
from tests.support.api_client import Answer, Client
from tests.support.builders import World
from tests.support.fakes import ScriptedModel
from tests.support.own_tools import LOOK_UP

IMPORT = "/v1/agents/file"
YAML = "application/yaml"
ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:skein-tools/acme/shop-AbCdEf"
SECRET = {"secret_arn": ARN, "header": "Authorization"}
TOOLS = ["send_message", "recall", "read_skill", "create_thread", "set_goal", "order_status"]
AGENT: dict[str, Any] = {
    "name": "Mira",
    "system_prompt": "You are Mira.\n\n  - Be brief: no lists.\n",
    "model": "gpt-4.1-mini",
    "enabled_tools": TOOLS,
    "time_zone": "Asia/Tokyo",
    "description": "On: yes",
    "listed": True,
    "settings": {"message_history_limit": 20, "choice_hours": 2},
}


class Place:
    """A stack with an operator and a person."""

    def __init__(self) -> None:
        self.world = World(model=ScriptedModel.saying(default="Hello!"))
        self.admin = Client(self.world, admin_api, sub="usr_op", scope="admin")
        self.husam = Client(self.world, mobile_api, sub="usr_husam", scope="chat")

    def make(self, path: str, **body: Any) -> Any:
        answer = self.admin.post(path, body)
        assert answer.status in {200, 201}, answer.body
        return answer.body

    def agent(self) -> str:
        """Create an agent with one of everything, each with a word of its own."""
        self.make("/v1/tools", **LOOK_UP, credentials=SECRET)
        self.make("/v1/skills", name="core", text="# Core\nSay please.", tags=["Shop"])
        self.make("/v1/skills", name="refunds", text="Refund at once.")
        agent = str(self.make("/v1/agents", **AGENT)["id"])
        path = f"/v1/agents/{agent}"
        for n in range(3):
            self.make(f"{path}/memories", kind="core", text=f"Fact {n}", constitutional=n == 1)
            self.make(f"{path}/goals", text=f"Goal {n}", long_term=n == 0)
        self.make(f"{path}/plans", name="Weekly", instruction="Look.", cron="0 17 * * SUN")
        self.make(f"{path}/plans", name="Once", instruction="Ask.", run_after="3 days")
        self.make(f"{path}/documents", name="Opening hours", text="9 to 5\n", **{"global": True})
        self.make(f"{path}/documents", name="prices.csv", text="a;1", media_type="text/csv")
        changed = self.admin.patch(f"{path}/documents/Opening hours", {"append": "Not on Sundays"})
        assert changed.status == 200
        return agent

    def chat(self, agent: str, text: str) -> str:
        """Open a chat with the agent, write to it, and wait for its answer."""
        members = [{"kind": "agent", "id": agent}]
        chat = self.husam.post("/v1/chats", {"kind": "direct", "members": members}).body["id"]
        posted = self.husam.post(f"/v1/chats/{chat}/messages", {"text": text, "client_id": "1"})
        assert posted.status == 201
        settle(self.world)
        return str(chat)

    def export(self, agent: str) -> str:
        answer = self.admin.get(f"/v1/agents/{agent}/file")
        assert (answer.status, type(answer.body)) == (200, str), answer.body
        return str(answer.body)

    def send(self, text: str, method: str = "POST", path: str = IMPORT, **query: Any) -> Answer:
        return self.admin.call(method, path, raw=text, content_type=YAML, query=query)

    def prompt(self, agent: str, chat: str) -> Any:
        answer = self.admin.get(
            f"/v1/agents/{agent}/context", chat_id=chat, reason="Compare the prompts"
        )
        assert answer.status == 200, answer.body
        return answer.body


def without_ids(shown: Any) -> str:
    return re.sub(r"0{10,}\d+", "<id>", repr(shown))


# ---------------------------------------------------------------------- both ways


def test_imported_agent_has_the_same_prompt_for_the_same_chat() -> None:
    here, there = Place(), Place()
    exported = here.agent()
    file = here.export(exported)
    imported = there.send(file)
    assert imported.status == 201, imported.body
    agent = imported.body["id"]
    prompts = [
        place.prompt(each, place.chat(each, "What are your hours?"))
        for place, each in ((here, exported), (there, agent))
    ]
    for word in ("Fact 1", "Goal 2", "Weekly", "Once", "9 to 5", "Say please.", "order_status"):
        assert word in repr(prompts[0]), word
    assert without_ids(prompts[0]) == without_ids(prompts[1])
    assert there.export(agent) == file
    assert exported not in file
    shown = [
        place.admin.get(f"/v1/agents/{each}").body
        for place, each in ((here, exported), (there, agent))
    ]
    assert without_ids(shown[0]) == without_ids(shown[1])


def test_import_names_the_secrets_of_tools() -> None:
    here, there = Place(), Place()
    file = here.export(here.agent())
    assert ARN not in file
    assert "secret_arn: shop\n" in file
    secret = {"tool": "order_status", "header": "Authorization", "secret": "skein-tools/acme/shop"}
    assert there.send(file).body["secrets"] == [secret]
    kept = there.admin.get("/v1/tools/order_status").body["credentials"]["secret_arn"]
    assert kept == "skein-tools/acme/shop"
