"""Events while a worker dies, is overtaken or meets a new message at every call.

Each endpoint gets each event at least once, with the same id each time and in the order of its
chat. No event stays behind: the next message of a chat is told at once, and alone.
"""

import json
from collections import defaultdict
from functools import partial
from typing import Any

from skein.events.api import NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.events.queuing import CACHED_FOR
from skein.models.common.http import HttpAnswer, HttpRequest
from skein.settings import Settings
from tests.faults.deployment import Deployment, every_death, named
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import TENANT, bot, person

CHATS = ("chat_1", "chat_2")


class Told(Deployment):
    """Two chats whose messages an endpoint is told of; it refuses one event once."""

    def __init__(self) -> None:
        super().__init__(settings=Settings(recall=False))
        self.attach_feed()
        self.agent()
        for chat_id in CHATS:
            self.chat(person(), bot(), chat_id=chat_id, respond="manual")
        new = NewEndpoint(url="https://shop.example/events", types=("message.created",))
        self.app.get(EventEndpoints).create(TENANT, new)
        self.clock.advance(CACHED_FOR.total_seconds())
        self.live()
        self.received: list[tuple[str, int, str]] = []
        self.refuses = {("chat_1", 2)}
        self.service.answer = self.receive
        self.fuse.disarm()

    def receive(self, request: HttpRequest) -> HttpAnswer:
        """Note an event by chat, seq and id, unless it is refused."""
        event: dict[str, Any] = json.loads(request.body)
        chat_id, seq = event["data"]["chat_id"], event["data"]["seq"]
        if (chat_id, seq) in self.refuses:
            self.refuses.remove((chat_id, seq))
            return HttpAnswer(status=500)
        self.received.append((chat_id, seq, event["id"]))
        return HttpAnswer(status=204)

    def say(self, *chat_ids: str) -> None:
        for chat_id in chat_ids:
            self.post("Hello", person(), chat_id=chat_id)

    def play(self) -> None:
        self.say("chat_1", "chat_2", "chat_1", "chat_1")
        self.live()

    def say_more(self) -> None:
        """Post a message in each chat, and do all that is due now in processes that do not die."""
        self.say(*CHATS)
        self.run_ready()

    def check(self) -> None:
        ids: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for chat_id, seq, event_id in self.received:
            ids[chat_id][seq].add(event_id)
        for chat_id in CHATS:
            every = list(range(1, len(self.messages(chat_id)) + 1))
            assert list(ids[chat_id]) == every, "lost, or out of order"
            assert {len(known) for known in ids[chat_id].values()} == {1}, "another id"
        assert len(self.received) <= 4 * sum(map(len, ids.values())), "sent again and again"
        assert self.at_rest
        self.received.clear()
        self.say_more()
        told = {(chat_id, seq) for chat_id, seq, _ in self.received}
        assert len(self.received) == len(told) == len(CHATS), "the queue of a chat is not empty"


SWEEP = Sweep(Told, play=Told.play, check=Told.check)


def test_events_without_death_are_sent_once() -> None:
    world = Told()
    world.play()
    assert [seq for chat_id, seq, _ in world.received if chat_id == "chat_1"] == [1, 2, 3]
    assert len(world.received) == 4
    world.check()


def test_events_death_of_a_worker_loses_none_and_keeps_their_order(share: FaultShare) -> None:
    SWEEP.one_death(share, of=every_death)


def test_events_two_deaths_lose_none_and_keep_their_order(share: FaultShare) -> None:
    SWEEP.two_deaths(share, 300, seed="events", of=every_death)


def test_events_overtaken_worker_loses_none_and_keeps_their_order(share: FaultShare) -> None:
    """The call is held up until the lease has ended and another worker has sent everything."""
    for strike in share.of(every_death(SWEEP.fuse)):
        delay = strike._replace(holds_up=True)
        with named(delay, calls=SWEEP.fuse.calls):
            world = Told()
            world.plan(delay)
            world.play()
            world.check()


def test_events_of_messages_that_come_at_any_call_are_sent(share: FaultShare) -> None:
    """Other workers do all that is due at that time, and no time passes."""
    for strike in share.of(every_death(SWEEP.fuse)):
        with named(strike, calls=SWEEP.fuse.calls):
            world = Told()
            meanwhile = partial(Told.say_more, world)
            world.fuse.arm(strike.call, after=strike.after, meanwhile=meanwhile)
            world.play()
            world.check()
