"""Slow and failing endpoints: how many workers they get, and that nobody else waits for them."""

import json
from collections import Counter, deque
from datetime import timedelta

import pytest

from skein.events.admission import LEASE
from skein.events.api import NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.events.models.endpoint import EventEndpoint
from skein.events.models.event import Event, EventLane
from skein.events.models.lanes import MAX_LANES, MAX_WAITING, EndpointLanes
from skein.events.queuing import CACHED_FOR, EventQueue
from skein.events.sending import CALL_SECONDS
from skein.models.common.breaker import CLOSED, MAX_FAILURES, PAUSE
from skein.models.common.http import HttpAnswer, HttpRequest
from skein.models.common.storage import Put
from skein.models.outbox.jobs import EventJob
from tests.fakes.outbound_http import json_answer
from tests.support.builders import NOON, TENANT, World

SLOW, QUICK = "https://slow.example/events", "https://quick.example/events"
CHATS = tuple(f"chat_{number:02}" for number in range(12))


class Crowd(World):
    """Tenants whose endpoints are told of many chats at once.

    Attributes:
        jobs: The jobs of events that workers have received and not begun.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.jobs = deque[EventJob]()

    def endpoint(self, url: str, tenant: str = TENANT) -> EventEndpoint:
        made = self.app.get(EventEndpoints).create(
            tenant, NewEndpoint(url=url, types=("message.created",))
        )
        self.clock.advance(CACHED_FOR.total_seconds())
        return made

    def happen(self, tenant: str = TENANT, chats: tuple[str, ...] = CHATS, number: int = 1) -> None:
        """Queue an event of each chat, and send the jobs."""
        queue = self.app.get(EventQueue)
        for chat in chats:
            event = Event(
                tenant=tenant,
                id=f"evt_{chat}_{number}",
                type="message.created",
                lane=chat,
                number=str(number),
                data={"chat_id": chat},
                at=self.clock.now(),
            )
            self.app.dispatch.send(list(queue.queue(tenant, [event])))

    def told(self, url: str) -> list[str]:
        """The chats of which an endpoint was told, in order."""
        return [
            json.loads(request.body)["data"]["chat_id"]
            for request in self.service.requests
            if request.url == url
        ]

    def lanes_of(self, endpoint: EventEndpoint) -> EndpointLanes:
        item = self.table.get(EndpointLanes.key_of(TENANT, endpoint.id))
        assert item is not None
        return EndpointLanes.from_item(item)

    def play(self, most: int = 1_000) -> None:
        """Play jobs of events, one after the other; an answer may call this, as more workers."""
        for _ in range(most):
            self.jobs.extend(self.queues.take(EventJob))
            if not self.jobs:
                return
            self.handle(self.jobs.popleft())


def test_slow_endpoint_occupies_two_workers_without_delaying_others() -> None:
    world = Crowd()
    slow, _ = world.endpoint(SLOW), world.endpoint(QUICK, "other")
    world.happen()
    world.happen("other", ("chat_x",))
    at_work, most = Counter[str](), Counter[str]()
    began = world.clock.now()

    def answer(request: HttpRequest) -> HttpAnswer:
        at_work[request.url] += 1
        most[request.url] = max(most[request.url], at_work[request.url])
        if request.url == SLOW and world.clock.now() == began:
            world.play()  # other workers look at all jobs while this call lasts
            assert world.told(QUICK) == ["chat_x"]
            if at_work[SLOW] == MAX_LANES:
                assert len(world.lanes_of(slow).waiting) == len(CHATS) - MAX_LANES
            world.clock.advance(CALL_SECONDS)
        at_work[request.url] -= 1
        return json_answer({})

    world.service.answer = answer
    world.play()
    assert most == {SLOW: MAX_LANES, QUICK: 1}
    assert sorted(world.told(SLOW)) == list(CHATS)
    assert world.lanes_of(slow).held == {}


def test_failing_endpoint_is_left_alone_until_a_probe_succeeds() -> None:
    world = Crowd()
    endpoint = world.endpoint(SLOW)
    world.service.answer = lambda _: json_answer({}, status=500)
    world.happen()
    world.play()
    assert len(world.told(SLOW)) == MAX_FAILURES
    assert world.metrics.counts["CircuitsOpened"] == 1
    world.service.requests.clear()
    world.clock.advance(PAUSE.total_seconds() - 1)
    world.happen(chats=CHATS[-1:], number=2)
    world.play()
    assert world.told(SLOW) == []
    world.clock.advance(1)
    world.service.answer = lambda _: json_answer({})
    world.happen(chats=CHATS[-1:], number=3)
    world.play()
    told = world.told(SLOW)
    assert told[:3] == [CHATS[-1]] * 3, "the probe tells what waited, in order"
    assert {*told} == {*CHATS[MAX_FAILURES:]}, "the lanes that never failed follow"
    assert world.lanes_of(endpoint).breaker == CLOSED
    world.clock.advance(120)
    world.tick()
    world.play()
    assert {*world.told(SLOW)} == {*CHATS}


def test_one_worker_probes_and_a_failed_probe_makes_the_pause_longer() -> None:
    world = Crowd()
    endpoint = world.endpoint(SLOW)
    world.service.answer = lambda _: json_answer({}, status=500)
    world.happen()
    world.play()
    world.clock.advance(PAUSE.total_seconds())
    world.service.requests.clear()
    world.happen(chats=CHATS[-3:], number=2)
    world.play()
    assert len(world.told(SLOW)) == 1
    assert world.lanes_of(endpoint).breaker.open_until == world.clock.now() + 2 * PAUSE


def test_place_of_a_dead_worker_is_free_after_its_lease() -> None:
    world = Crowd()
    endpoint = world.endpoint(SLOW)
    lanes = EndpointLanes(tenant=TENANT, endpoint_id=endpoint.id, version=1)
    for number in range(MAX_LANES):
        now = world.clock.now()
        lanes = lanes.begun(f"chat_dead_{number}", now + LEASE, now)
    world.table.write(Put(lanes.key, lanes.to_item()))
    world.happen(chats=CHATS[:1])
    world.play()
    assert world.told(SLOW) == []
    world.clock.advance(LEASE.total_seconds())
    world.tick()
    world.play()
    assert world.told(SLOW) == [*CHATS[:1]]


def test_second_worker_for_a_lane_takes_no_place_from_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Crowd()
    endpoint = world.endpoint(SLOW)
    world.happen(chats=CHATS[:1])
    [job] = world.queues.take(EventJob)
    lane = EventLane.key_of(TENANT, endpoint.id, CHATS[0])
    read = world.table.get_many([lane, endpoint.key])

    def answer(_: HttpRequest) -> HttpAnswer:
        with monkeypatch.context() as before:  # the second worker has read before the claim
            before.setattr(world.table, "get_many", lambda _, **__: read)
            world.handle(job)
        assert list(world.lanes_of(endpoint).held) == [CHATS[0]]
        return json_answer({})

    world.service.answer = answer
    world.handle(job)
    assert world.told(SLOW) == [CHATS[0]]
    assert world.lanes_of(endpoint).held == {}


def test_lease_is_longer_than_a_call() -> None:
    assert timedelta(seconds=2 * CALL_SECONDS) < LEASE / 2


def test_lane_with_many_events_lets_others_have_their_turn() -> None:
    world = Crowd()
    world.endpoint(SLOW)
    for number in range(30):
        world.happen(chats=CHATS[:2], number=number)

    def answer(_: HttpRequest) -> HttpAnswer:
        world.clock.advance(5)
        return json_answer({})

    world.service.answer = answer
    world.happen(chats=CHATS[2:3])
    world.jobs.extend(world.queues.take(EventJob))
    world.play(3)
    assert world.told(SLOW)[-1] in CHATS[:3]
    assert len(Counter(world.told(SLOW))) >= 2
    world.play()
    assert Counter(world.told(SLOW)) == {CHATS[0]: 30, CHATS[1]: 30, CHATS[2]: 1}


def test_lanes_that_wait_are_bounded_and_keep_their_order() -> None:
    lanes = EndpointLanes(tenant=TENANT, endpoint_id="evp_1")
    for number in range(MAX_LANES + MAX_WAITING + 5):
        for _ in range(2):  # also if a job comes twice
            lanes = lanes.begun(f"chat_{number}", NOON + LEASE, NOON)
    assert list(lanes.held) == ["chat_0", "chat_1"]
    assert lanes.waiting == tuple(f"chat_{number}" for number in range(2, 2 + MAX_WAITING))
    left, woken = lanes.ended("chat_1", 1, NOON).wakened(NOON)
    assert (woken, left.waiting[0]) == (("chat_2",), "chat_3")
    other = lanes.ended("chat_1", 2, NOON)
    assert other == lanes, "another worker has claimed the lane"


def test_deleted_endpoint_leaves_no_work() -> None:
    world = Crowd()
    endpoint = world.endpoint(SLOW)
    world.happen()
    world.play()
    world.app.get(EventEndpoints).delete(TENANT, endpoint.id)
    assert world.table.get(EndpointLanes.key_of(TENANT, endpoint.id)) is None
