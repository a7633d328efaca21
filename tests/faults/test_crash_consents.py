"""Words that leave a private chat, with a death at every call: one question, one yes, one post."""

from typing import Any

import pytest

from skein.models.chats.choice import YES
from skein.models.runs.completion import ModelRequest
from tests.faults.deployment import Deployment, Phone, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import TENANT, bot, person
from tests.support.erasure import lines_of
from tests.support.fakes import Said, ScriptedModel, says

ALICE, BEN, CAROL = person("alice", "Alice"), person("ben", "Ben"), person("carol", "Carol")
COACH = bot()
MARK = "pomegranates"
WORDS = f"Alice brings {MARK}"
CHATS = ("chat_team", "chat_town", "chat_den")
PRIVATE: dict[str, Any] = {"visibility": "private", "respond": "mention"}


def telling(request: ModelRequest) -> Said:
    """What the agent says: it passes the words on, once, and is done."""
    if any(message.role == "assistant" for message in request.messages):
        return "I have asked you"
    return says(WORDS, chat_id="chat_team", also_in=["chat_town", "chat_den"])


class Agreeing(Deployment):
    """Alice has the agent tell three chats something; before her yes, Carol joins one of them."""

    def __init__(self) -> None:
        super().__init__(model=ScriptedModel(default=telling))
        self.agent()
        self.known(ALICE, BEN, CAROL)
        self.chat(ALICE, COACH, kind="direct", visibility="private", title=None)
        self.chat(ALICE, BEN, COACH, chat_id="chat_team", title="Team", **PRIVATE)
        self.chat(ALICE, CAROL, COACH, chat_id="chat_town", title="Town", respond="mention")
        self.chat(ALICE, BEN, COACH, chat_id="chat_den", title="Den", **PRIVATE)
        self.phone = Phone(self, sub=ALICE.id)

    def play(self) -> None:
        self.phone.say("Tell them")
        self.live()
        self.app.chat_admin.add_member(TENANT, "chat_den", ALICE, CAROL.ref)
        [asked] = [message for message in self.messages() if message.kind == "choice"]
        body = {"choice": {"seq": asked.seq, "option": YES}, "client_id": "yes"}
        self.phone.post("/v1/chats/chat_1/messages", body)
        self.live()

    def check(self) -> None:
        assert [self.texts(chat_id) for chat_id in CHATS] == [[WORDS], [WORDS], []]
        [message] = self.messages("chat_team")
        assert (message.sender.ref, message.via is not None) == (ALICE.ref, True)
        kinds = [message.kind for message in self.messages()]
        assert [kinds.count(kind) for kind in ("choice", "keyword", "notice")] == [1, 1, 1]
        [consent] = self.app.consents.list(TENANT, ALICE.id).items
        assert [post.status for post in consent.posts] == ["posted", "posted", "failed"]
        consented = [e for e in self.app.audit.of_day(TENANT).items if e.kind == "consent"]
        assert len(consented) == 1
        assert self.at_rest


class Withdrawing(Agreeing):
    """Alice deletes the words in one chat after her yes."""

    def __init__(self) -> None:
        super().__init__()
        Agreeing.play(self)
        self.fuse.disarm()

    def play(self) -> None:
        self.phone.delete("/v1/chats/chat_town/messages/1")
        self.live()

    def check(self) -> None:
        left = [key for key, text in lines_of(self) if MARK in text]
        assert left == []
        assert [self.texts(chat_id) for chat_id in CHATS] == [[""], [""], []]
        assert self.at_rest


AGREEING = Sweep(Agreeing, play=Agreeing.play, check=Agreeing.check)
WITHDRAWING = Sweep(Withdrawing, play=Withdrawing.play, check=Withdrawing.check)


@pytest.mark.parametrize("sweep", [AGREEING, WITHDRAWING], ids=["agreeing", "withdrawing"])
def test_consent_death_posts_once_and_deletes_all(sweep: Sweep[Any], share: FaultShare) -> None:
    sweep.one_death(share, of=every_death)
