"""Events: what is sent to endpoints, in which order, and what is given up."""

import base64
import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from skein.errors import NotFound, Unavailable, Unprocessable
from skein.events.api import EndpointChange, NewEndpoint
from skein.events.endpoints import EventEndpoints
from skein.events.models.endpoint import EventEndpoint, EventType
from skein.events.models.event import (
    Event,
    EventLane,
    ParkedEvent,
    QueuedEvent,
    event_id,
    event_number,
)
from skein.events.payloads import DATA, event_models
from skein.events.queuing import CACHED_FOR, EventQueue
from skein.feed.events import events_of
from skein.models.common.base import rfc3339
from skein.models.common.http import HttpAnswer
from skein.models.common.storage import Page, Put, Query, Update, Write
from skein.models.config.overrides import TenantOverridesChange
from skein.models.outbox.changes import ItemChange
from skein.models.visibility.ownership import Owner
from skein.settings import Settings
from skein_client import verify_event
from tests.fakes.event_bus import MemoryBus
from tests.fakes.table import MemoryTable
from tests.support.builders import TENANT, World, bot, person
from tests.support.choices import answer, ask
from tests.support.desk import Desk
from tests.support.sms import Texting

URL = "https://shop.example/events"
SECRET = "The vault opens with 4711"
DOWN = [Unavailable("down")]


class Told(World):
    """A world whose service is told of events."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.chat(person(), bot(), kind="direct")
        self.attach_feed()

    def endpoint(self, *types: EventType, **fields: Any) -> EventEndpoint:
        new = NewEndpoint(url=URL, types=types or ("message.created",), **fields)
        made = self.endpoints.create(TENANT, new)
        self.clock.advance(CACHED_FOR.total_seconds())
        return made

    @property
    def endpoints(self) -> EventEndpoints:
        return self.app.get(EventEndpoints)

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The events that were sent; each has the published form."""
        events = [json.loads(request.body) for request in self.service.requests]
        made_up = {"chat_id", "seq"}  # the data of events that tests queue themselves
        for event in (each for each in events if each["data"].keys() != made_up):
            model = event_models()[event["type"]]
            model.model_validate_json(json.dumps(event))
            assert event.keys() == model.model_fields.keys()
            assert event["data"].keys() <= DATA[event["type"]].model_fields.keys()
        return events

    @property
    def seqs(self) -> list[int]:
        return [event["data"]["seq"] for event in self.sent]

    def later(self, **time: float) -> None:
        """Let time go by, and what the tick finds then."""
        self.clock.advance(timedelta(**time).total_seconds())
        self.tick()
        self.drain()


def test_message_events_are_sent_once_in_order_signed_and_without_text() -> None:
    world = Told()
    endpoint = world.endpoint("message.created", "run.ended")
    for text in (SECRET, "Again"):
        world.post(text, person())
        world.drain()
    types = [event["type"] for event in world.sent]
    assert sorted(types) == 4 * ["message.created"] + 2 * ["run.ended"]
    assert [event["data"]["seq"] for event in world.sent if "seq" in event["data"]] == [1, 2, 3, 4]
    request = world.service.requests[0]
    now = world.clock.now().timestamp()
    event = verify_event(endpoint.secret, request.headers, request.body, now=now)
    assert (event["specversion"], event["data"]["chat_id"]) == ("1.0", "chat_1")
    assert SECRET not in str([each.body for each in world.service.requests])


def test_words_are_those_of_the_moment_of_sending() -> None:
    world = Told()
    world.endpoint(words=True)
    world.service.errors = [*DOWN]
    world.post(SECRET, person())
    world.run_ready()
    stored = world.messages()[0]
    world.table.write(Update(stored.key, set={"text": "", "kind": "erased"}))
    world.later(minutes=2)
    first = [event for event in world.sent if event["data"]["seq"] == 1]
    assert [event["data"]["text"] for event in first] == [SECRET, ""]


def test_events_of_tenant_without_operator_access_contain_no_text() -> None:
    world = Told()
    world.endpoint(words=True)
    change = TenantOverridesChange(operators_read_chats=False)
    world.app.tenant_settings.change(TENANT, change)
    world.post(SECRET, person())
    world.drain()
    assert ["text" in event["data"] for event in world.sent] == [False, False]


def test_failing_event_holds_the_later_ones_of_its_chat_only() -> None:
    world = Told()
    world.chat(person(), bot(), chat_id="chat_2", kind="direct")
    world.drain()
    world.endpoint()

    def answer(request: Any) -> HttpAnswer:
        data = json.loads(request.body)["data"]
        return HttpAnswer(status=500 if data["chat_id"] == "chat_1" else 200)

    world.service.answer = answer
    world.post("One", person())
    world.post("Two", person(), chat_id="chat_2")
    world.drain()
    held = [each["data"] for each in world.sent if each["data"]["chat_id"] == "chat_1"]
    assert {data["seq"] for data in held} == {1}
    assert [d["data"]["seq"] for d in world.sent if d["data"]["chat_id"] == "chat_2"] == [1, 2]
    world.service.answer = lambda _: HttpAnswer(status=204)
    world.service.requests.clear()
    world.later(minutes=20)
    assert world.seqs == [1, 2]


def test_job_of_a_lane_that_a_worker_has_sends_nothing() -> None:
    world = Told()
    world.chat(person(), bot(), respond="manual")
    world.endpoint()

    def answer(_: Any) -> HttpAnswer:
        if len(world.service.requests) == 1:
            world.post("Two", person())
            world.run_ready()
        return HttpAnswer(status=204)

    world.service.answer = answer
    world.post("One", person())
    world.run_ready()
    assert world.seqs == [1, 2]


def test_worker_that_was_overtaken_neither_sends_more_nor_holds_up_later_events() -> None:
    world = Told()
    world.chat(person(), bot(), respond="manual")
    world.endpoint()

    def answer(request: Any) -> HttpAnswer:
        if len(world.service.requests) == 1:
            world.later(minutes=2)  # the lease ends, and another worker takes over
        return HttpAnswer(status=500 if json.loads(request.body)["data"]["seq"] == 2 else 204)

    world.service.answer = answer
    for text in ("One", "Two"):
        world.post(text, person())
    world.drain()
    assert world.seqs == [1, 1, 2]
    world.service.answer = lambda _: HttpAnswer(status=204)
    world.later(minutes=2)
    assert world.seqs == [1, 1, 2, 2]
    world.service.requests.clear()
    world.post("Three", person())
    world.run_ready()
    assert world.seqs == [3]


def claimed_by_the_last_release(world: Told, endpoint: EventEndpoint, *, minutes: int) -> None:
    """Claim the lane of the chat as a worker of release 0.3.0 does, which takes no place."""
    lane = EventLane.key_of(TENANT, endpoint.id, "chat_1")
    until = rfc3339(world.clock.now() + timedelta(minutes=minutes))
    world.table.write(Update(lane, set={"busy_until": until}, add={"fence": 1}))


def test_lane_that_a_worker_of_the_last_release_has_is_left_to_it() -> None:
    world = Told()
    world.chat(person(), bot(), respond="manual")
    endpoint = world.endpoint()
    world.service.errors = [*DOWN]
    world.post("One", person())
    world.run_ready()
    claimed_by_the_last_release(world, endpoint, minutes=10)
    world.later(minutes=3)
    assert world.seqs == [1]
    world.later(minutes=15)
    assert world.seqs == [1, 1]


def test_worker_whose_lane_the_last_release_has_taken_over_finishes_no_event() -> None:
    world = Told()
    world.chat(person(), bot(), respond="manual")
    endpoint = world.endpoint()

    def answer(_: Any) -> HttpAnswer:
        if len(world.service.requests) == 1:
            claimed_by_the_last_release(world, endpoint, minutes=1)
        return HttpAnswer(status=204)

    world.service.answer = answer
    world.post("One", person())
    world.run_ready()
    world.later(minutes=20)
    assert world.seqs == [1, 1]


def test_event_that_cannot_be_queued_holds_the_later_ones() -> None:
    class Refusing(MemoryTable):
        refuses = False

        def transact(self, writes: Sequence[Write]) -> None:
            if self.refuses and any("#EVENTS#" in write.key.pk for write in writes):
                self.refuses = False
                raise Unavailable("throttled")
            super().transact(writes)

    class Throttled(Told):
        def empty_table(self) -> Refusing:
            return Refusing(self.clock)

    world = Throttled()
    world.chat(person(), bot(), respond="manual")
    world.endpoint()
    for text in ("One", "Two"):
        world.post(text, person())
    assert isinstance(world.table, Refusing)
    world.table.refuses = True
    world.run_ready()
    assert world.seqs == []
    world.drain()
    assert world.seqs == [1, 2]


def test_frames_and_the_index_of_all_tenants_wait_for_no_event_to_be_queued() -> None:
    class Noting(MemoryTable):
        note: Callable[[], object] | None = None

        def transact(self, writes: Sequence[Write]) -> None:
            if self.note is not None and any("#EVENTS#" in write.key.pk for write in writes):
                self.note()
            super().transact(writes)

    class Noted(Told):
        def empty_table(self) -> Noting:
            return Noting(self.clock)

    world, before = Noted(), list[set[str]]()
    world.endpoint()
    world.drain()
    world.queues.sent.clear()
    assert isinstance(world.table, Noting)
    world.table.note = lambda: before.append({waiting.job.queue for waiting in world.queues.sent})
    world.post("Hello", person())
    world.run_ready()
    assert before[0] >= {"pushes", "upkeep"}
    assert "events" not in before[0]


def test_event_that_is_queued_while_its_lane_is_released_is_sent() -> None:
    class Releasing(MemoryTable):
        meanwhile: Callable[[], object] | None = None

        def query(self, query: Query) -> Page:
            page = super().query(query)
            if not page.items and "#EVENTS#" in query.pk and self.meanwhile is not None:
                happen, self.meanwhile = self.meanwhile, None
                happen()
            return page

    class Meanwhile(Told):
        def empty_table(self) -> Releasing:
            return Releasing(self.clock)

    world = Meanwhile()
    world.chat(person(), bot(), respond="manual")
    world.endpoint()
    world.drain()
    assert isinstance(world.table, Releasing)
    world.service.requests.clear()

    def another() -> None:
        world.post("Two", person())
        world.run_ready()

    world.table.meanwhile = another
    world.post("One", person())
    world.drain()
    world.later(minutes=2)
    assert world.seqs == [1, 2]


def test_event_that_fails_for_a_day_is_parked_and_sent_again_on_request() -> None:
    world = Told()
    endpoint = world.endpoint()
    world.service.answer = lambda _: HttpAnswer(status=500)
    world.post("One", person())
    world.drain()
    for _ in range(26):
        world.later(hours=1)
    parked = world.endpoints.parked(TENANT, endpoint.id).items
    assert [each.event.data["seq"] for each in parked] == [1, 2]
    assert world.metrics.counts["EventsParked"] == 2
    world.service.answer = lambda _: HttpAnswer(status=200)
    world.service.requests.clear()
    assert world.endpoints.redeliver(TENANT, endpoint.id) == 2
    world.drain()
    assert [event["id"] for event in world.sent] == [each.event.id for each in parked]
    assert world.endpoints.parked(TENANT, endpoint.id).items == ()


def test_one_parked_event_is_sent_again_alone() -> None:
    world = Told()
    endpoint = world.endpoint()
    for seq in (1, 2, 3):
        lost = Event(
            tenant=TENANT,
            id=f"evt_{seq}",
            type="message.created",
            lane="chat_1",
            number=event_number(str(seq), 0),
            data={"chat_id": "chat_1", "seq": seq},
            at=world.clock.now(),
        )
        waiting = QueuedEvent(
            tenant=TENANT, endpoint_id=endpoint.id, event=lost, queued_at=world.clock.now()
        )
        parked = ParkedEvent.of(waiting, "down", world.clock.now())
        world.table.write(Put(parked.key, parked.attributes()))
    assert world.endpoints.redeliver(TENANT, endpoint.id, "evt_2") == 1
    world.drain()
    assert world.seqs == [2]
    left = world.endpoints.parked(TENANT, endpoint.id).items
    assert [each.event.id for each in left] == ["evt_1", "evt_3"]
    with pytest.raises(NotFound):
        world.endpoints.redeliver(TENANT, endpoint.id, "evt_2")


def test_secret_of_the_caller_signs_and_is_not_in_the_table() -> None:
    world = Told()
    given = "whsec_" + base64.b64encode(bytes(range(64))).decode()
    endpoint = world.endpoint(secret=given)
    assert endpoint.secret == given
    world.post("One", person())
    world.drain()
    request, now = world.service.requests[0], world.clock.now().timestamp()
    assert verify_event(given, request.headers, request.body, now=now)["data"]["seq"] == 1
    stored = world.table.get(endpoint.key)
    assert given.removeprefix("whsec_")[:20] not in str(stored)
    assert world.endpoints.rotate(TENANT, endpoint.id).secret != given


@pytest.mark.parametrize("given", ["4711", "whsec_4711", "whsec_" + 32 * "=", "whsec_" + 92 * "A"])
def test_secret_of_another_form_is_refused_without_quoting_it(given: str) -> None:
    with pytest.raises(ValidationError) as refused:
        NewEndpoint(url=URL, types=("run.ended",), secret=given)
    [error] = refused.value.errors()
    assert (error["loc"], given in error["msg"]) == (("secret",), False)


def test_change_that_the_stream_reports_again_has_the_same_id_and_waits_once() -> None:
    world = Told()
    world.endpoint()
    world.post("One", person())
    assert world.feed is not None
    batch = world.feed.unread()
    world._forward({"Records": batch})
    world._forward({"Records": batch})
    world.drain()
    assert world.seqs == [1, 2]
    world._forward({"Records": batch})
    world.drain()
    assert len({event["id"] for event in world.sent}) == 2


def test_event_with_a_lower_number_than_a_sent_one_is_sent() -> None:
    """Parts of the stream, and the streams of restored tables, have numbers of their own."""
    world = Told()
    world.endpoint()
    queue = world.app.get(EventQueue)
    message = world.post("One", person()).message
    for sequence in ("9", "3"):
        change = ItemChange(
            key=message.key,
            before=None,
            after=message.to_item(),
            at=world.clock.now(),
            sequence=sequence,
        )
        world.app.dispatch.send(list(queue.queue(TENANT, events_of(change))))
        world.drain()
    both = {event_id(message.key, sequence, 0) for sequence in ("9", "3")}
    assert both <= {event["id"] for event in world.sent}


@pytest.mark.parametrize("ends", ["disabled", "deleted"])
def test_events_of_an_endpoint_that_ends_are_dropped(ends: str) -> None:
    world = Told()
    endpoint = world.endpoint()
    world.service.errors = [*DOWN]
    world.post("One", person())
    world.run_ready()
    if ends == "disabled":
        world.endpoints.change(TENANT, endpoint.id, EndpointChange(enabled=False))
    else:
        world.endpoints.delete(TENANT, endpoint.id)
    tries = len(world.sent)
    world.later(minutes=20)
    assert len(world.sent) == tries
    assert not [key for key in world.table.all_keys() if "#EVENTS#" in key.pk]


def test_member_events_of_a_new_chat_have_status_joined() -> None:
    world = Told()
    world.endpoint("member.changed")
    world.agent("agt_b", "Cook")
    world.chat(person(), bot(), chat_id="chat_3")
    world.drain()
    assert {each["data"]["status"] for each in world.sent} == {"joined"}


def test_address_that_is_no_https_is_refused() -> None:
    world = Told()
    with pytest.raises(Unprocessable, match="url:"):
        world.endpoints.create(TENANT, NewEndpoint(url="http://x.example/", types=("run.ended",)))
    with pytest.raises(NotFound):
        world.endpoints.get(TENANT, "evp_other")


@pytest.mark.parametrize(
    "url",
    [
        "x",
        "https://",
        "ftp://x.example/",
        "https://x.example:99999/",
        "https://x.example:0/",
        "https://u:p@x.example/",
        "https://[::1/",
        "https://x.example/a b",
    ],
)
def test_address_that_is_no_address_is_refused_with_the_name_of_the_field(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        NewEndpoint(url=url, types=("run.ended",))
    assert refused.value.errors()[0]["loc"] == ("url",)


def leave(world: World) -> None:
    world.app.chat_admin.remove_member(TENANT, "chat_1", person().ref, bot().ref)


def answer_choice(world: World) -> None:
    ask(world)
    answer(world, 1)


def remember(world: World) -> None:
    owner = Owner(tenant=TENANT, agent_id=bot().id)
    world.app.memories.add(owner, SECRET, kind="core", made_by="tool")


def erase_person(world: World) -> None:
    world.known(person())
    world.app.erasures.request(TENANT, person().id, by="usr_op")
    for _ in range(10):
        world.clock.advance(3_600)
        world.tick()
        world.drain()


def hand_back(world: World) -> None:
    mia = Desk(world)
    mia.take()
    mia.hand_back(SECRET)


@pytest.mark.parametrize(
    ("type_", "act", "state"),
    [
        ("member.changed", leave, {"status": "left"}),
        ("choice.answered", answer_choice, {"person": person().id}),
        ("memory.changed", remember, {"status": "live"}),
        ("erasure.done", erase_person, {}),
        ("help.ended", hand_back, {"ended_by": "handed_back", "holder": "op_mia"}),
    ],
)
def test_event_of_each_type_has_its_state_and_no_text(
    type_: EventType, act: Callable[[World], None], state: dict[str, str]
) -> None:
    world = Told()
    world.chat(person(), bot(), kind="group")
    world.endpoint(type_)
    act(world)
    world.drain()
    [event] = world.sent
    assert event["type"] == type_
    assert state.items() <= event["data"].items()
    assert SECRET not in str(world.sent)


def test_delivery_and_limit_events_are_sent() -> None:
    world = Texting(settings=Settings(sms_answer_segments=100, user_segments_per_day=1))
    world.attach_feed()
    endpoints = world.app.get(EventEndpoints)
    endpoints.create(TENANT, NewEndpoint(url=URL, types=("delivery.changed", "limit.reached")))
    for text in ("Hello!", "Go on. " * 50):
        world.deliver(world.say(text))
    world.drain()
    sent = [json.loads(request.body) for request in world.service.requests]
    told = [(event["type"], event["data"].get("status")) for event in sent]
    assert ("delivery.changed", "sent") in told
    assert ("delivery.changed", "canceled") in told
    limits = [event["data"]["reason"] for event in sent if event["type"] == "limit.reached"]
    assert set(limits) == {"segment_limit"}


def test_bus_gets_events_in_order_and_again_after_a_failure() -> None:
    bus = MemoryBus(errors=[Unavailable("throttled")])
    arn = "arn:aws:events:us-east-1:000000000000:event-bus/skein"
    world = Told(settings=Settings(event_bus_arn=arn), overrides={"event_bus": bus})
    new = NewEndpoint(kind="bus", types=("message.created",))
    endpoint = world.endpoints.create(TENANT, new)
    world.clock.advance(CACHED_FOR.total_seconds())
    for text in ("One", "Two"):
        world.post(text, person())
        world.drain()
    world.later(minutes=2)
    events = [json.loads(event) for _, event in bus.events]
    assert [kind for kind, _ in bus.events] == ["message.created"] * len(events)
    seqs = [event["data"]["seq"] for event in events]
    assert seqs == sorted(seqs)
    assert seqs == [1, 2, 3, 4]
    assert world.service.requests == []
    with pytest.raises(Unprocessable):
        world.endpoints.change(TENANT, endpoint.id, EndpointChange(url=URL))


def test_bus_needs_one_in_the_deployment_and_no_url() -> None:
    with pytest.raises(Unprocessable, match="no event bus"):
        Told().endpoints.create(TENANT, NewEndpoint(kind="bus", types=("run.ended",)))
    for fields in ({"kind": "bus", "url": URL}, {"kind": "url"}):
        with pytest.raises(ValidationError, match="needs a url"):
            NewEndpoint.model_validate({"types": ["run.ended"], **fields})
