"""A person gets another name, with a death at every single call on the way to the rosters."""

from typing import Any

import admin_api
from tests.faults.deployment import Deployment, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.api_client import Answer, Client
from tests.support.builders import TENANT, bot, person

ANN, COACH = person("usr_ann", "Caller 0100"), bot()
ANNA = person("usr_ann", "Anna")
CHATS = ("chat_1", "chat_2")


class Persistent(Client):
    """An operator who sends a request until it is answered."""

    def send(self, event: dict[str, Any]) -> Answer:
        assert isinstance(self.world, Deployment)
        self.world.webhook(admin_api, event)
        return Answer(200, None, {})


class RenamedDocument(Deployment):
    """Ann, whose name becomes known, and an agent, in an open chat and a private one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.known(ANN)
        for chat_id, visibility in zip(CHATS, ("open", "private"), strict=True):
            self.chat(ANN, COACH, chat_id=chat_id, visibility=visibility)

    def play(self) -> None:
        """An operator sends the request until it is answered; then all comes to rest."""
        Persistent(self, api=admin_api, scope="admin").patch("/v1/users/usr_ann", {"name": "Anna"})
        self.live()

    def check(self) -> None:
        assert self.app.users.get(TENANT, ANN.id).name == "Anna"
        for chat_id in CHATS:
            assert self.stored_chat(chat_id).roster == (ANNA, COACH)
            assert self.membership(ANN, chat_id).member == ANNA


SWEEP = Sweep(RenamedDocument, RenamedDocument.play, RenamedDocument.check)


def test_renaming_death_gives_rosters_the_new_name(share: FaultShare) -> None:
    SWEEP.one_death(share, of=every_death)
