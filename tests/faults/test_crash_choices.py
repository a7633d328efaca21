"""A choice is asked and answered, with a death at every call to the outside on the way."""

from collections.abc import Callable

import pytest

from tests.fakes.table import MemoryTable
from tests.faults.sampling import FaultShare
from tests.support.api_client import Client
from tests.support.builders import World
from tests.support.choices import COACH, HUSAM, ask, choice_in, choices_of
from tests.support.fakes import Fuse, Killed

METHODS = ("get", "get_many", "query", "write", "transact")


class Asked(World):
    """Husam and an agent that answers when it is asked."""

    def __init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        super().__init__(overrides={"table": self.fuse.guard(inner, "table", METHODS)})
        self.table = inner
        self.agent()
        self.known(HUSAM)
        self.chat(HUSAM, COACH, kind="direct", visibility="private", respond="manual")
        self.fuse.disarm()

    def ask(self) -> None:
        ask(self)

    def answer(self) -> None:
        body = {"choice": {"seq": 1, "option": "yes"}, "client_id": "mine"}
        answer = Client(self).post("/v1/chats/chat_1/messages", body)
        assert answer.status in {200, 201}

    def check_asked(self) -> None:
        """There is one open question, in the chat and on the list."""
        assert [message.kind for message in self.messages()] == ["choice"]
        assert choice_in(self, 1).answer is None
        assert [choice.seq for choice in choices_of(self).open] == [1]

    def check_answered(self) -> None:
        """There is one answer, which has started one run."""
        assert [message.kind for message in self.messages()] == ["choice", "text"]
        given = choice_in(self, 1).answer
        assert given is not None
        assert (given.option, given.seq) == ("yes", 2)
        assert choices_of(self).open == ()
        assert [run.trigger.seq for run in self.runs()] == [2]


def asked() -> Asked:
    world = Asked()
    world.ask()
    world.fuse.disarm()
    return world


@pytest.mark.parametrize(
    ("story", "act", "check"),
    [(Asked, Asked.ask, Asked.check_asked), (asked, Asked.answer, Asked.check_answered)],
    ids=["ask", "answer"],
)
def test_choice_death_and_retry_count_once(
    story: Callable[[], Asked],
    act: Callable[[Asked], None],
    check: Callable[[Asked], None],
    share: FaultShare,
) -> None:
    undisturbed = story()
    act(undisturbed)
    check(undisturbed)
    calls = len(undisturbed.fuse.calls)
    deaths = [(strike, after) for strike in range(1, calls + 1) for after in (False, True)]
    for strike, after in share.of(deaths):
        world = story()
        world.fuse.arm(strike, after=after)
        with pytest.raises(Killed):
            act(world)
        world.fuse.disarm()
        act(world)
        check(world)
