"""The story of a take-over: Mia of the team answers Alice while the agent waits."""

import admin_api
from skein.models.chats.chat import chat_partition
from skein.models.chats.desk_stay import DeskStay
from skein.models.common.storage import Query
from tests.faults.deployment import Deployment, Operator, Phone
from tests.support.api_client import WHY
from tests.support.builders import TENANT, bot, person
from tests.support.fakes import ScriptedModel

ALICE, COACH = person("alice", "Alice"), bot()
DESK = "/v1/chats/chat_1/desk"
REASON = {"reason": WHY}


class Handed(Deployment):
    """Alice writes, Mia takes over while the agent is about to answer, and hands back."""

    answers = 1

    def __init__(self) -> None:
        super().__init__(model=ScriptedModel.saying(default="I can answer"))
        self.agent()
        self.known(ALICE)
        self.chat(ALICE, COACH, kind="direct", visibility="private", title=None)
        self.phone = Phone(self, sub=ALICE.id)
        self.mia = Operator(self, api=admin_api, sub="mia", scope="admin", claims={"name": "Mia"})

    def held(self) -> None:
        self.phone.say("Help")
        self.mia.call("PUT", DESK, {"holder": "me"}, query=REASON)
        self.live_beside_the_desk()
        self.mia.post(f"{DESK}/messages", {"text": "I am Mia", "client_id": "1"})
        self.phone.say("And my parcel?")
        self.live_beside_the_desk()

    def play(self) -> None:
        self.held()
        self.mia.call("DELETE", DESK, {"briefing": "A parcel is missing"})
        self.live()

    def check(self) -> None:
        texts = [message.text for message in self.messages()]
        assert texts == ["Help", "I am Mia", "And my parcel?", "I can answer"]
        assert self.stored_chat().desk is None
        [stay] = self.stays()
        assert (stay.ended_by, stay.briefing) == ("handed_back", "A parcel is missing")
        assert [run.status for run in self.runs()] == ["canceled", "done"]
        assert self.membership(COACH).free
        assert self.at_rest

    def stays(self) -> list[DeskStay]:
        page = self.table.query(Query.under(chat_partition(TENANT, "chat_1"), DeskStay.PREFIX))
        return [DeskStay.from_item(item) for item in page.items]
