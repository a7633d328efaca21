"""Messages are indexed for recall, with a fault at every call to the table on the way."""

from collections.abc import Callable
from functools import cache

import pytest

from skein.errors import Ambiguous, Contention, Throttled, Transient
from skein.models.chats.chat import Message
from skein.models.common.storage import Delete
from skein.models.outbox.jobs import RecallJob
from tests.fakes.table import MemoryTable
from tests.faults.deployment import Strike, deaths, named
from tests.faults.sampling import FaultShare
from tests.support.api_client import everything
from tests.support.builders import LONG_INVOCATION, TENANT
from tests.support.fakes import Fuse, Killed
from tests.support.recall import ANN, BEN, CLERK, COACH, Indexed

METHODS = ("get", "get_many", "query", "write", "transact")
TRIES = 5  # SQS delivers a job that failed again
Story = Callable[["Indexing"], list[RecallJob]]


class Indexing(Indexed):
    """A private group of two agents, one of which came later; some of it is indexed."""

    def __post_init__(self) -> None:
        self.fuse, inner = Fuse(), MemoryTable()
        self.overrides = {"table": self.fuse.guard(inner, "table", METHODS)}
        super().__post_init__()
        self.table = inner
        self.agent()
        self.agent("agt_b", "Clerk")
        self.chat(ANN, BEN, COACH, CLERK, visibility="private")
        self.member(CLERK, joined_seq=10)
        self.said(*(f"Room {4700 + seq} of Kwaku" for seq in range(1, 13)))
        self.index()
        self.fuse.disarm()

    def play(self, jobs: list[RecallJob], strike: Strike | None = None) -> None:
        """Handle each job until it succeeds; the index holds together at any time."""
        self.fuse.disarm()
        if strike is not None:
            self.fuse.arm(strike.call, after=strike.after, error=strike.error)
        self.failures = 0
        for job in jobs:
            for _ in range(TRIES):
                try:
                    self.app.recall_worker.take(job, deadline=self.clock.now() + LONG_INVOCATION)
                except (Killed, Transient):
                    self.failures += 1
                    self.fuse.disarm()
                    self.check_index()
                else:
                    break
        self.calls = list(self.fuse.calls)
        self.check_index()

    def result(self) -> dict[object, object]:
        """All that is stored, without the versions, which count attempts."""
        return {
            key: {name: value for name, value in item.items() if name != "version"}
            for key, item in everything(self).items()
        }


def job(first: int = 1, last: int | None = None, **more: str) -> RecallJob:
    return RecallJob(tenant=TENANT, chat_id="chat_1", first_seq=first, last_seq=last, **more)


def growing(world: Indexing) -> list[RecallJob]:
    """New messages come."""
    world.said(*(f"Locker {4800 + seq} of Kwaku" for seq in range(13, 22)), sender=BEN)
    return [job(13, 15), job(16, 21)]


def shrinking(world: Indexing) -> list[RecallJob]:
    """Messages are erased or expire, and an agent joins again."""
    world.change(3, kind="erased", text="")
    world.change(11, kind="erased", text="")
    world.table.write(Delete(Message.key_of(TENANT, "chat_1", 12)))
    world.member(COACH, joined_seq=5)
    return [job(3, 3), job(11, 12), job(1, 5, agent_id="agt_a")]


def moving(world: Indexing) -> list[RecallJob]:
    """The chat is another's, and its messages have more words than a transaction holds."""
    long = [" ".join(f"{seq}x{word}" for word in range(450)) for seq in range(13, 18)]
    world.said(*long)
    world.index()
    world.chat(BEN, COACH, kind="direct", visibility="private", last_seq=17)
    return [job()]


STORIES = {story.__name__: story for story in (growing, shrinking, moving)}


@cache
def undisturbed(name: str) -> Indexing:
    """Play a story without a fault."""
    world = Indexing()
    world.play(STORIES[name](world))
    return world


@pytest.mark.parametrize("name", STORIES)
def test_recall_index_death_is_completed_by_another_worker(name: str, share: FaultShare) -> None:
    calls, expected = undisturbed(name).calls, undisturbed(name).result()
    for strike in share.of(deaths(calls)):
        world = Indexing()
        with named(strike, calls=calls):
            world.play(STORIES[name](world), strike)
            assert world.failures == 1
            assert world.result() == expected


@pytest.mark.parametrize("name", STORIES)
def test_recall_index_failed_call_is_repeated(name: str, share: FaultShare) -> None:
    calls, expected = undisturbed(name).calls, undisturbed(name).result()
    errors = (Contention, Throttled, Ambiguous)
    strikes = [
        Strike(number, after, errors[number % 3])
        for number in range(1, len(calls) + 1)
        for after in ((False, True) if errors[number % 3] is Ambiguous else (False,))
    ]
    for strike in share.of(strikes):
        world = Indexing()
        with named(strike, calls=calls):
            world.play(STORIES[name](world), strike)
            assert world.result() == expected


def changed_again(world: Indexing) -> None:
    """A message goes, another comes, and a second worker indexes both."""
    world.change(14, kind="erased", text="")
    world.change(2, kind="erased", text="")
    world.said("Locker 4999 of Kwaku")
    world.index()
    world.check_index()


def test_recall_index_races_of_two_workers_end_with_the_newest_messages(share: FaultShare) -> None:
    """The second worker does all of its work within any one call of the first."""
    calls = undisturbed("growing").calls
    expected = Indexing()
    growing(expected)
    changed_again(expected)
    strikes = [
        Strike(number, after) for number in range(1, len(calls) + 1) for after in (False, True)
    ]
    for strike in share.of(strikes):
        world = Indexing()
        jobs = growing(world)
        with named(strike, calls=calls):
            world.fuse.arm(
                strike.call,
                after=strike.after,
                meanwhile=lambda world=world: changed_again(world),  # type: ignore[misc]
            )
            for each in jobs:
                world.app.recall_worker.take(each, deadline=world.clock.now() + LONG_INVOCATION)
                world.check_index()
            assert world.result() == expected.result()
