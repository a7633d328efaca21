"""A chat is opened under a client's own id, with a death at every call to the table on the way."""

from typing import Any

import pytest

from skein.models.chats.membership import Membership
from tests.fakes.table import MemoryTable
from tests.faults.sampling import FaultShare
from tests.support.api_client import Answer, Client
from tests.support.builders import TENANT, World, bot, person
from tests.support.choices import choices_of
from tests.support.fakes import Fuse, Killed

METHODS = ("get", "get_many", "query", "write", "transact")
FEW, FULL = 2, 98  # people beside the creator and the agent; 100 members take two transactions


class Opening(World):
    """Husam, an agent and others who are known."""

    def __init__(self, others: int) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        super().__init__(overrides={"table": self.fuse.guard(inner, "table", METHODS)})
        self.table = inner
        people = [person(f"usr_{n:02d}", f"P{n}") for n in range(others)]
        self.agent()
        self.known(person(), *people)
        self.members = [bot(), *people]
        self.fuse.disarm()

    def open(self) -> Answer:
        members = [{"kind": member.kind, "id": member.id} for member in self.members]
        body: dict[str, Any] = {"client_id": "mine", "kind": "group", "members": members}
        return Client(self).post("/v1/chats", body)

    def check(self, answer: Answer) -> None:
        """There is one chat with everybody, the strangers as invited, each with one open choice."""
        metas = [key for key in self.table.all_keys() if key.sk == "META" and "#CHAT#" in key.pk]
        assert len(metas) == 1
        chat = self.stored_chat(answer.body["id"])
        assert chat.key == metas[0]
        agent, *strangers = self.members
        assert {member.ref for member in chat.roster} == {person().ref, agent.ref}
        assert [each.member for each in chat.invited] == strangers
        places = [key for key in self.table.all_keys() if key.sk.startswith("MEMBER#")]
        assert {Membership.key_of(TENANT, chat.id, who.ref) for who in chat.roster} == set(places)
        listed = [choices_of(self, who).open for who in strangers]
        assert [[choice.invited_to for choice in of_one] for of_one in listed] == [
            [chat.id] for _ in strangers
        ]


def deaths(others: int) -> list[tuple[int, bool]]:
    world = Opening(others)
    world.check(world.open())
    calls = len(world.fuse.calls)
    return [(strike, after) for strike in range(1, calls + 1) for after in (False, True)]


@pytest.mark.parametrize("others", [FEW, FULL], ids=["few", "a full chat"])
def test_opening_death_and_retry_open_one_chat(others: int, share: FaultShare) -> None:
    for strike, after in share.of(deaths(others)):
        world = Opening(others)
        world.fuse.arm(strike, after=after)
        with pytest.raises(Killed):
            world.open()
        world.fuse.disarm()
        again = world.open()
        assert again.status in {200, 201}
        world.check(again)
        assert world.open().status == 200
        world.check(world.open())
