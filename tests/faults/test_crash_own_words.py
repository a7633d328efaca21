"""Memories of a person's own words, with a death at every call that changes something."""

import json

import admin_api
from skein.models.chats.chat import chat_partition
from skein.models.common.storage import Query, Update
from skein.models.runs.completion import ModelRequest
from skein.models.visibility.ownership import owned_partition
from skein.models.visibility.talk import SharingState
from skein.recall.models.own_words import OwnWordsMemory
from skein.recall.models.stored import RecallPassage
from skein.settings import Settings
from tests.faults.deployment import Deployment, Phone
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.api_client import Client
from tests.support.builders import TENANT
from tests.support.fakes import ScriptedModel
from tests.support.family import COACH, EMMA

PAIRS = 20
FACTS = ("The lesson is on Thursday", "The teacher is Ngozi")
RULE = {"name": "r", "reason": "r", "from": {"role": "daughter"}, "to": {"role": "father"}}


class OwnWords(Deployment):
    """A person tells two facts that a rule covers, in two talks.

    The model words each memory differently. So a memory that is stored twice shows.
    """

    def __init__(self) -> None:
        super().__init__(Settings(consolidation_idle_seconds=60), ScriptedModel())
        self.asked = 0
        self.model.own_words.extend([self._remember] * 100)
        self.agent()
        self.known(EMMA)
        chat = {"kind": "direct", "visibility": "private", "respond": "manual"}
        self.chat(EMMA, COACH, consolidate=True, **chat)
        operator = Client(self, api=admin_api, sub="usr_op", scope="admin")
        operator.patch(f"/v1/users/{EMMA.id}", {"roles": [{"role": "daughter"}]})
        rule_id = str(operator.post("/v1/sharing-rules", RULE).body["id"])
        self.clock.advance(1)
        self.post("My dog is called Rex", EMMA)
        noticed = SharingState(
            person_id=EMMA.id, noticed={rule_id: 1}, talk_from=1, spoke_at=self.clock.now()
        )
        self.attach_feed()
        self.table.write(
            Update(self.stored_chat().key, set={"sharing": noticed.model_dump(mode="json")})
        )

    def _remember(self, request: ModelRequest) -> str:
        self.asked += 1
        transcript = request.messages[1].content
        made = [f"{fact} {self.asked}" for fact in FACTS if fact in transcript]
        return json.dumps({"memories": made})

    def play(self) -> None:
        phone = Phone(self, sub=EMMA.id)
        for fact in FACTS:
            phone.say(fact)
            self.live()

    def check(self) -> None:
        chat, membership = self.stored_chat(), self.membership(COACH)
        assert (chat.consolidation_at, membership.own_words_seq) == (None, chat.person_seq)
        partition = owned_partition(TENANT, COACH.id, f"user:{EMMA.id}")
        items = self.table.query(Query.under(partition, OwnWordsMemory.PREFIX)).items
        made = [OwnWordsMemory.from_item(item) for item in items]
        facts = [memory.text.rsplit(" ", 1)[0] for memory in made]
        assert sorted(facts) == sorted(FACTS)
        prefix = RecallPassage.prefix_of(COACH.id)
        found = self.table.query(Query.under(chat_partition(TENANT, chat.id), prefix)).items
        indexed = [item["memory_id"] for item in found if "memory_id" in item]
        assert sorted(indexed) == sorted(memory.id for memory in made)
        assert self.at_rest


SWEEP = Sweep(OwnWords, OwnWords.play, OwnWords.check)


def test_own_words_without_fault_ask_once_for_each_talk() -> None:
    assert SWEEP.undisturbed().asked == len(FACTS)


def test_own_words_death_makes_each_memory_once(share: FaultShare) -> None:
    SWEEP.one_death(share)


def test_own_words_second_death_makes_each_memory_once(share: FaultShare) -> None:
    SWEEP.two_deaths(share, PAIRS, seed="own words")
