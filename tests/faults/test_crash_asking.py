"""A chat is put on the desk with a death at every call: one stay, one notice, one event."""

import json
from typing import Any, ClassVar

import pytest

import admin_api
from skein.errors import ModelRejected
from skein.events.api import NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.models.chats.desk_stay import DeskStay
from skein.models.common.storage import Put, Query
from skein.models.config.overrides import TenantSettings
from skein.models.runs.completion import ModelRequest
from tests.fakes.outbound_http import json_answer
from tests.faults.deployment import Deployment, Operator, Phone
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import NOON, TENANT, bot, person
from tests.support.fakes import Said, ScriptedModel, calls
from tests.support.own_tools import LOOK_UP, own_tool

ALICE, COACH = person("alice", "Alice"), bot()
A_WEEK = 10_080  # minutes; a chat that is late sooner is due each hour
NOTICE = "A person comes."
EVENTS = "https://shop.example/events"
WHY = {"reason": "The customer is angry, says the shop."}


def asking(request: ModelRequest) -> Said:
    """Ask for a person once, then answer."""
    if any(message.role == "tool" for message in request.messages):
        return "They come"
    return calls(("ask_a_person", {"reason": "A refund", "summary": "She wants a refund"}))


def answering(request: ModelRequest) -> Said:
    """Answer."""
    return "Here I am" if request.messages else ""


def looking_up(request: ModelRequest) -> Said:
    """Look an order up once, then answer."""
    if any(message.role == "tool" for message in request.messages):
        return "It does not work"
    return calls(("order_status", {"order": "17"}))


def refusing(request: ModelRequest) -> Said:
    """Refuse the request."""
    raise ModelRejected(f"no answer to {len(request.messages)} messages")


class ByTool(Deployment):
    """Alice asks for something; the agent asks for a person."""

    reason = "agent"
    model_says = staticmethod(asking)
    rules: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        super().__init__(model=ScriptedModel(default=self.model_says))
        self.agent(enabled_tools=("ask_a_person",))
        self.chat(ALICE, COACH, kind="direct", visibility="private", title=None)
        own = {"desk_notice": NOTICE, "desk_late_minutes": A_WEEK} | self.rules
        settings = TenantSettings(tenant=TENANT, settings=own, changed_at=NOON)
        self.table.write(Put(settings.key, settings.to_item()))
        new = NewEndpoint(url=EVENTS, types=("help.requested",))
        self.app.get(EventEndpoints).create(TENANT, new)
        self.attach_feed()
        self.phone = Phone(self, sub=ALICE.id)

    def play(self) -> None:
        self.phone.say("I want my money back, human")
        self.live()

    def check(self) -> None:
        query = Query.under(self.stored_chat().key.pk, DeskStay.PREFIX)
        [stay] = map(DeskStay.from_item, self.table.query(query).items)
        desk = self.stored_chat().desk
        assert desk is not None
        assert (desk.session, desk.state, stay.reason_code) == (stay.id, "waiting", self.reason)
        assert self.texts().count(NOTICE) == 1
        sent = [each for each in self.service.requests if each.url == EVENTS]
        events = [json.loads(each.body) for each in sent]
        assert len({event["id"] for event in events}) == 1
        assert len(events) <= 1 + self.deaths
        link = "http://127.0.0.1:8787/console/#/desk/chat_1"
        data = {"chat_id": "chat_1", "stay_id": stay.id, "reason_code": self.reason, "link": link}
        assert events[0]["data"] == data | {"agent_id": stay.agent_id}
        assert self.at_rest


class ByWords(ByTool):
    """Alice asks for a human; the agent only answers."""

    reason = "words"
    model_says = staticmethod(answering)
    rules: ClassVar[dict[str, Any]] = {"desk_words": ["human"]}


class ByFailure(ByTool):
    """The model refuses to answer Alice."""

    reason = "failed_answers"
    model_says = staticmethod(refusing)
    rules: ClassVar[dict[str, Any]] = {"desk_failed_answers": 1}


class ByOwnTool(ByTool):
    """The service of a tool is out of order."""

    reason = "tool"
    model_says = staticmethod(looking_up)
    rules: ClassVar[dict[str, Any]] = {"desk_on_tool_failure": True}

    def __init__(self) -> None:
        super().__init__()
        self.agent(enabled_tools=("order_status",))
        own_tool(self, LOOK_UP)
        self.service.answer = lambda request: json_answer({}, 200 if request.url == EVENTS else 500)


class ByClick(ByTool):
    """An operator puts the chat on the desk."""

    reason = "operator"

    def play(self) -> None:
        operator = Operator(self, api=admin_api, scope="admin")
        operator.post("/v1/chats/chat_1/desk", {}, **WHY)
        self.live()


SWEEPS = {
    story.__name__: Sweep(story, play=story.play, check=story.check)
    for story in (ByTool, ByWords, ByFailure, ByOwnTool, ByClick)
}


@pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)
def test_request_for_a_person_death_leaves_one_stay_one_notice_and_one_event(
    sweep: Sweep[Any], share: FaultShare
) -> None:
    sweep.one_death(share)
