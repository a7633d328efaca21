"""Tools of a tenant with a death at every call: the service does each thing once, or Skein says so.

The service is not idempotent, so a second request with the same key would be a second effect.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import admin_api
from skein.models.chats.choice import YES
from skein.models.quotas.usage import unsharded, user_usage_key
from skein.models.runs.completion import ModelRequest
from skein.own_tools.api import NewTool
from skein.own_tools.operator_approvals import OperatorApprovals
from skein.own_tools.records import OwnTools
from tests.faults.deployment import Deployment, Operator, Phone
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.agents import results_of
from tests.support.builders import TENANT, bot, person
from tests.support.fakes import Said, ScriptedModel, calls
from tests.support.mcp_server import SHOP, URL, Shop, shop
from tests.support.own_tools import BOOK, LOOK_UP, own_tool

ALICE, COACH = person("alice", "Alice"), bot()
WHY = {"reason": "The restaurant has asked for a confirmation."}


def calling(request: ModelRequest) -> Said:
    """Book and look up in one answer, then speak."""
    if any(message.role == "tool" for message in request.messages):
        return "That is all"
    if any("Yes" in message.content for message in request.messages if message.role == "user"):
        return "That is all"
    own = next(each.name for each in request.tools if each.name.endswith("book_table"))
    before = own.removesuffix("book_table")
    wanted = [
        (f"{before}book_table", {"day": "Tuesday"}),
        (f"{before}order_status", {"order": "17"}),
        (f"{before}book_table", {"day": "Friday"}),
    ]
    both = any("Friday" in message.content for message in request.messages)
    return calls(*(wanted if both else wanted[:1]))


def choosing(request: ModelRequest) -> Said:
    """Ask for a seat once, then speak."""
    before = any(message.role == "tool" or message.tool_calls for message in request.messages)
    answered = any("Bar" in message.content for message in request.messages)
    wanted = ("shop__choose_seat", {"day": "Tuesday"})
    return "That is all" if before or answered else calls(wanted)


def picking(request: ModelRequest) -> Said:
    """Pick a seat four times in one answer, then speak."""
    before = any(message.role == "tool" for message in request.messages)
    return "That is all" if before else calls(*[("pick_seat", {"seat": 7})] * 4)


class Calling(Deployment):
    """Alice asks; the agent makes two writes and a read at once."""

    approval = "none"
    days = 2
    prefix = ""

    def __init__(self) -> None:
        super().__init__(model=ScriptedModel(default=calling))
        names = ("book_table", "order_status")
        self.agent(enabled_tools=tuple(f"{self.prefix}{name}" for name in names))
        self.make_tools()
        self.chat(ALICE, COACH, kind="direct", visibility="private", title=None)
        self.phone = Phone(self, sub=ALICE.id)

    def make_tools(self) -> None:
        own_tool(self, BOOK, approval=self.approval)
        own_tool(self, LOOK_UP)

    def booked_days(self) -> list[str]:
        """The days on which the service has booked a table, as often as it did."""
        return [json.loads(each.body)["day"] for each in self.service.requests if each.body]

    def play(self) -> None:
        self.phone.say("Book Tuesday and Friday")
        self.live()

    def check(self) -> None:
        """Each write had one effect, or none if the model was told that this is unknown."""
        made = [one for run in self.all_runs() for one in results_of(self, run)]
        name = f"{self.prefix}book_table"
        booked = [one for one in made if one.name == name and one.status != "asked"]
        bodies = self.booked_days()
        assert len(bodies) == len(set(bodies)) <= self.days
        assert len(booked) == self.days
        assert {one.status for one in booked} <= {"done", "unknown"}
        assert len(bodies) >= [one.status for one in booked].count("done")
        if self.deaths == 0:
            assert [one.status for one in booked] == ["done"] * self.days
        else:
            assert [one.status for one in booked].count("unknown") <= 2 * self.deaths
        unknown = any(one.status == "unknown" for one in booked)
        marked = any("tool_outcome_unknown" in run.marks for run in self.all_runs())
        assert unknown == marked
        assert self.texts()[-1] == "That is all"
        assert self.at_rest


class Telling(Calling):
    """A shared service learns 7.6 bits by each call, so that three calls are made."""

    def __init__(self) -> None:
        super().__init__()
        self.model.default = picking
        self.agent(enabled_tools=("pick_seat",))

    def make_tools(self) -> None:
        seat = {"type": "integer", "enum": [*range(100)]}
        parameters = {"type": "object", "properties": {"seat": seat}, "required": ["seat"]}
        fields = {"name": "pick_seat", "effect": "read", "privacy": "shared"}
        own_tool(self, BOOK | fields | {"parameters": parameters})

    def check(self) -> None:
        """The same three calls were made, and the person's day has what they told, once."""
        made = [one.status for run in self.all_runs() for one in results_of(self, run)]
        assert made == ["done", "done", "done", "failed"]
        assert len({each.headers["Idempotency-Key"] for each in self.service.requests}) == 3
        counter = self.table.get(unsharded(user_usage_key(TENANT, self.clock.now(), ALICE.id)))
        assert counter is not None
        assert counter["told_millibits"] == 3 * 7_644
        assert self.texts()[-1] == "That is all"
        assert self.at_rest


class ByMcp(Calling):
    """The same tools are those of an MCP server."""

    prefix = "shop__"
    server = Shop()  # the one that runs, during a test

    def make_tools(self) -> None:
        self.service.answer = self.server.answer
        self.server.booked.clear()
        mcp = {"url": URL, "tools": ["book_table", "order_status", "choose_seat"]}
        new = NewTool.model_validate(SHOP | {"mcp": mcp, "approval": self.approval})
        self.app.get(OwnTools).create(TENANT, new, by="operator")

    def booked_days(self) -> list[str]:
        return self.server.booked


class AskedByServer(ByMcp):
    """The server asks Alice where to sit before it books, and she answers."""

    def __init__(self) -> None:
        super().__init__()
        self.model.default = choosing
        self.agent(enabled_tools=("shop__choose_seat",))

    def play(self) -> None:
        self.phone.say("Book Tuesday")
        self.live()
        for message in self.messages():
            if message.choice is not None and message.choice.answer is None:
                answer = {"seq": message.seq, "option": message.choice.options[1].id}
                body = {"choice": answer, "client_id": f"seat-{message.seq}"}
                self.phone.post("/v1/chats/chat_1/messages", body)
                self.live()

    def check(self) -> None:
        """The table was booked once, or the model was told that this is unknown."""
        made = [one.status for run in self.all_runs() for one in results_of(self, run)]
        booked = self.booked_days()
        assert booked in ([], ["Tuesday, Bar"])
        assert booked or "unknown" in made
        assert self.deaths or made == ["asked", "done"]
        assert "unknown" not in made or self.deaths
        assert self.texts()[-1] == "That is all"
        assert self.at_rest


class Agreeing(Calling):
    """The write needs Alice's yes, which she gives."""

    approval = "person"
    days = 1

    def play(self) -> None:
        self.phone.say("Book Tuesday")
        self.live()
        asked = [message.seq for message in self.messages() if message.kind == "choice"]
        for seq in asked:
            body = {"choice": {"seq": seq, "option": YES}, "client_id": f"yes-{seq}"}
            self.phone.post("/v1/chats/chat_1/messages", body)
            self.live()


class Deciding(Calling):
    """The write waits for an operator, who approves it."""

    approval = "operator"
    days = 1

    def play(self) -> None:
        self.phone.say("Book Tuesday")
        self.live_beside_the_desk()
        waiting = self.app.get(OperatorApprovals).list(TENANT)
        for each in waiting:
            path = f"/v1/approvals/{each.id}"
            Operator(self, api=admin_api, scope="admin").post(path, {"decision": "approved"}, **WHY)
            self.live()
        assert len(waiting) == 1


SWEEPS = {
    story.__name__: Sweep(story, play=story.play, check=story.check)
    for story in (Calling, Telling, Agreeing, Deciding, ByMcp, AskedByServer)
}


@pytest.fixture(scope="module", autouse=True)
def _server() -> Iterator[None]:
    with shop() as ByMcp.server:
        yield


@pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)
def test_calls_to_services_death_take_effect_once(sweep: Sweep[Any], share: FaultShare) -> None:
    sweep.one_death(share)
