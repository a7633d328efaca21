"""Measure what activities consume, by partition, on a metered table.

The chats and messages are those of the bench. The services are Skein's own; the model is scripted.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from math import ceil
from typing import TypeVar

from bench.scale.metered import MeteredTable
from bench.scale.roles import role_of
from bench.turns.fills import filled_by_transactions
from bench.turns.script import SYSTEM_PROMPT, text
from bench.turns.skein_chat import INVOCATION, TENANT, Kind, SkeinChat
from bench.turns.stand import BEGUN, Stand
from skein.models.api.base import ChatChange, MemberRequest, NewChat
from skein.models.api.directory import NewUser
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put
from skein.models.delivery.sms import InboundSms, SmsStatus, StatusReport
from skein.models.directory.agent import Agent
from skein.models.directory.line import Line
from skein.models.memory.consolidation import Consolidation
from skein.models.outbox.jobs import (
    ConsolidationJob,
    DeliveryJob,
    Job,
    LiveEvent,
    PushJob,
    QueueName,
    RecallJob,
    RunJob,
    SummaryJob,
    UpkeepJob,
)
from skein.models.runs.completion import ModelAnswer, ModelRequest, TokenUsage
from skein.ports import Clock, ModelTokens
from skein.services.chats.post_message import NewMessage
from skein.services.common.parallel import THREADS
from tests.fakes.sms import MemorySms
from tests.fakes.sockets import FakeSockets
from tests.fakes.system import FixedClock
from tests.support.services import build_services

J = TypeVar("J", bound=Job)

MESSAGES = 100
TIMES = 10
LIVE_CHATS = (2, 10, 100)
TURNS_BETWEEN = 10  # this many turns make a summary stale
STATUSES: tuple[SmsStatus, ...] = ("sent", "delivered")
LINE, PHONE, ACCOUNT = "+15005550006", "+15005550100", "AC" + "0" * 32
ROOM = timedelta(minutes=14)


@dataclass
class Share:
    """The units in one kind of partition."""

    reads: float = 0.0
    writes: float = 0.0


@dataclass
class Activity:
    """One kind of activity, with what all repetitions have consumed.

    Attributes:
        shares: Units by role of partition.
        calls: Calls of the table, by function.
        invocations: Invocations by function.
        jobs: Jobs by queue.
        stored: Bytes that the table has grown.
        frames: Frames of the live channel, sent or received.
        minutes: Minutes of connections to the live channel.
        times: The number of repetitions.
    """

    name: str
    shares: defaultdict[str, Share] = field(default_factory=lambda: defaultdict(Share))
    calls: Counter[str] = field(default_factory=Counter)
    invocations: Counter[str] = field(default_factory=Counter)
    jobs: Counter[str] = field(default_factory=Counter)
    stored: int = 0
    frames: int = 0
    minutes: float = 0.0
    times: int = 0

    @property
    def reads(self) -> float:
        """The read units of one repetition."""
        return sum(share.reads for share in self.shares.values()) / self.times

    @property
    def writes(self) -> float:
        """The write units of one repetition."""
        return sum(share.writes for share in self.shares.values()) / self.times

    def of(self, role: str) -> Share:
        """Return the units of one repetition in one kind of partition."""
        share = self.shares.get(role, Share())
        return Share(share.reads / self.times, share.writes / self.times)

    def each(self, total: float) -> float:
        """Return a total divided by the number of repetitions."""
        return total / self.times


class Remembering:
    """A model whose consolidation returns two memories."""

    def __init__(self) -> None:
        self._asked = 0

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """See `skein.ports.LanguageModel`."""
        self._asked += 1
        said = f'{{"journal": ["Run {self._asked} was hard."], "core": ["Race {self._asked}."]}}'
        return ModelAnswer(model=request.model, text=said, usage=TokenUsage())

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        """See `skein.ports.LanguageModel`; the text is not streamed."""
        return self.complete(request)


class Traffic:
    """Measure activities.

    Args:
        tokens: Counts tokens.
    """

    def __init__(self, tokens: ModelTokens) -> None:
        self._tokens = tokens
        self._table = MeteredTable(FixedClock(BEGUN))

    def all(self) -> list[Activity]:
        """Measure all activities, those of the app first."""
        return [
            self.turns("direct"),
            self.turns("group"),
            self._unanswered(),
            self._sms(),
            self._summaries(),
            self._consolidations(),
        ]

    # ------------------------------------------------------------------ in the app

    def turns(self, kind: Kind) -> Activity:
        """Measure app messages and their answers by workers with empty caches."""
        stand, chat = self._chat(kind)
        activity = Activity(f"app message and its answer, {kind} chat")
        for _ in range(TIMES):
            with self._invoked(activity, stand, "MobileApi"):
                job = chat.ask()
            with self._invoked(activity, stand, "RunWorker"):
                stand.new_app().turns.take(job, deadline=stand.clock.now() + INVOCATION)
            chat.check(job)
            chat.rest()
            activity.times += 1
        return activity

    def _unanswered(self) -> Activity:
        stand, chat = self._chat("group")
        activity = Activity("group message that triggers no agent")
        change = ChatChange(respond="manual")
        stand.app.chat_admin.change(TENANT, "chat_1", chat.person.ref, change)
        for number in range(TIMES):
            message = NewMessage(
                tenant=TENANT,
                chat_id="chat_1",
                sender=chat.person.ref,
                text=text(MESSAGES + number),
                client_id=f"alone-{number}",
            )
            with self._invoked(activity, stand, "MobileApi"):
                stand.app.app_messages.post(message)
            stand.clock.advance(60)
            activity.times += 1
        return activity

    def _summaries(self) -> Activity:
        stand, chat = self._chat("direct")
        activity = Activity("upkeep with new summaries of one chat")
        for _ in range(TIMES):
            for _ in range(TURNS_BETWEEN):
                chat.check(chat.turn())
                stand.clock.advance(60)
            stand.clock.advance(stand.settings.summary_cooldown_seconds)
            for upkeep in _jobs(stand, "upkeep", UpkeepJob)[-1:]:
                with self._invoked(activity, stand, "UpkeepWorker"):
                    stand.app.upkeep.keep(upkeep)
            for summary in set(_jobs(stand, "summaries", SummaryJob)):
                with self._invoked(activity, stand, "SummaryWorker"):
                    stand.app.summary_renewal.renew(summary)
            activity.times += 1
        return activity

    # ------------------------------------------------------------------ the live channel

    def live(self, ping_seconds: float) -> list[Activity]:
        """Measure messages that are shown over the live channel, and open connections.

        Args:
            ping_seconds: The time between two pings of a client.
        """
        pushes = [self._push(people) for people in LIVE_CHATS]
        return [*pushes, self._connection(ping_seconds)]

    def _push(self, people: int) -> Activity:
        """Push a message and the read mark of its sender to a chat in which all are connected."""
        stand, sockets = self._stand(), FakeSockets()
        app = build_services(stand.settings, **stand.ports, sockets=sockets)
        ids = [f"usr_{number}" for number in range(people)]
        for user_id in ids:
            app.users.create(TENANT, NewUser(id=user_id, name=user_id))
            issued = app.live_tickets.issue(TENANT, user_id, token_ends_at=None)
            app.live_connections.connect(issued.ticket, user_id)
        first = NamedMember(kind="user", id=ids[0], name=ids[0])
        others = tuple(MemberRequest(kind="user", id=user_id) for user_id in ids[1:])
        new = NewChat(kind="group", title="Group", members=others)
        chat_id = app.chat_admin.create(TENANT, first, new).chat.id
        activity = Activity(f"message to {people} connected people")
        for number in range(1, TIMES + 1):
            message = NewMessage(
                tenant=TENANT,
                chat_id=chat_id,
                sender=first.ref,
                text=text(number),
                client_id=str(number),
            )
            app.app_messages.post(message)
            events = (
                LiveEvent(type="message", seq=number),
                LiveEvent(type="read", member=first.ref),
            )
            job = PushJob(tenant=TENANT, chat_id=chat_id, events=events)
            with self._invoked(activity, stand, "PushWorker", "Feed"):
                app.dispatch.send([job])
                app.pushes.push(job)
            activity.calls["PushWorker"] += len(events) * ceil(people / THREADS)  # pushes at once
            stand.clock.advance(60)
            activity.times += 1
        activity.frames = sum(map(len, sockets.texts.values()))
        return activity

    def _connection(self, ping_seconds: float) -> Activity:
        """Keep a connection open for an hour, with a ticket at its start."""
        stand, sockets = self._stand(), FakeSockets()
        app = build_services(stand.settings, **stand.ports, sockets=sockets)
        activity = Activity("one connection for an hour")
        with self._invoked(activity, stand, "MobileApi"):
            issued = app.live_tickets.issue(TENANT, "usr_1", token_ends_at=None)
        with self._invoked(activity, stand, "LiveConnect"):
            app.live_connections.connect(issued.ticket, "c1")
        pings = int(3_600 / ping_seconds)
        for _ in range(pings):
            with self._invoked(activity, stand, "LiveFrames"):
                app.client_frames.receive("c1", '{"type": "ping"}')
        with self._invoked(activity, stand, "LiveDisconnect"):
            app.live_connections.disconnect("c1")
        activity.frames, activity.minutes, activity.times = 2 * pings, 60.0, 1
        return activity

    # ------------------------------------------------------------------ by text

    def _sms(self) -> Activity:
        stand = self._stand()
        sms = MemorySms(stand.clock)
        app = build_services(stand.settings, **stand.ports, sms=sms)
        _open_line(stand)
        first = Activity("first SMS of a person and its answer")
        activity = Activity("SMS and its answer by SMS")
        for number in range(TIMES + 1):
            here = activity if number else first
            with self._invoked(here, stand, "SmsWebhook"):
                app.sms_receiver.receive(_text(number))
            stand.clock.advance(stand.settings.line_reply_debounce_seconds)
            [run] = _jobs(stand, "turns", RunJob)
            with self._invoked(here, stand, "RunWorker"):
                app.turns.take(run, deadline=stand.clock.now() + INVOCATION)
            [delivery] = _jobs(stand, "deliveries", DeliveryJob)
            with self._invoked(here, stand, "SmsDelivery"):
                app.deliveries.deliver(delivery, deadline=stand.clock.now() + INVOCATION)
            for status in STATUSES:
                report = StatusReport(
                    tenant=TENANT,
                    chat_id=delivery.chat_id,
                    delivery_id=delivery.delivery_id,
                    part=0,
                    sid=sms.taken[-1][1].sid,
                    status=status,
                )
                with self._invoked(here, stand, "SmsStatus"):
                    app.deliveries.report(report)
            stand.clock.advance(60)
            here.times += 1
        return activity

    # ------------------------------------------------------------------ memories

    def _consolidations(self) -> Activity:
        activity = Activity("consolidation of 100 messages")
        for _ in range(TIMES):
            stand, _ = self._chat("direct")
            app = build_services(stand.settings, **(stand.ports | {"model": Remembering()}))
            stand.clock.advance(3_600)
            stand.queues.ready("upkeep")
            due = self._table.get(Consolidation.key_of(TENANT, "chat_1")) or {}
            shards = [int(str(due["gsi2pk"]).rsplit("#", 1)[1])]
            with self._invoked(activity, stand, "Tick"):
                app.tick.run(until=stand.clock.now() + ROOM, shards=shards)
            [job] = _jobs(stand, "consolidations", ConsolidationJob)
            with self._invoked(activity, stand, "ConsolidationWorker"):
                app.consolidator.consolidate(job, deadline=stand.clock.now() + ROOM)
            activity.times += 1
        return activity

    # ------------------------------------------------------------------ how it is measured

    def _stand(self) -> Stand:
        def table(clock: Clock) -> MeteredTable:
            self._table = MeteredTable(clock)
            return self._table

        return Stand(table, self._tokens)

    def _chat(self, kind: Kind) -> tuple[Stand, SkeinChat]:
        stand = self._stand()
        chat = SkeinChat(stand, kind=kind)
        chat.create(MESSAGES, filled_by_transactions(stand.table))
        chat.check(chat.turn())
        chat.rest()
        job = RecallJob(tenant=TENANT, chat_id="chat_1")
        stand.app.recall_worker.take(job, deadline=stand.clock.now() + ROOM)
        return stand, chat

    @contextmanager
    def _invoked(self, activity: Activity, stand: Stand, *functions: str) -> Iterator[None]:
        """Charge the calls of the block to invocations of these functions."""
        table = self._table
        table.clear()
        jobs = len(stand.queues.sent)
        yield
        activity.invocations.update(functions)
        activity.calls[functions[0]] += table.calls.total()
        activity.jobs.update(waiting.job.queue for waiting in stand.queues.sent[jobs:])
        activity.stored += table.stored
        for charge in table.charges:
            share = activity.shares[role_of(charge.partition)]
            share.reads += charge.reads
            share.writes += charge.writes


def _open_line(stand: Stand) -> None:
    """Create a line whose agent answers in text."""
    agent = Agent(
        tenant=TENANT,
        id="agt_line",
        name="Coach",
        system_prompt=SYSTEM_PROMPT,
        reply_mode="text",
        created_at=stand.clock.now(),
    )
    line = Line(tenant=TENANT, phone=LINE, agent_id=agent.id, created_at=stand.clock.now())
    stand.table.write(Put(agent.key, agent.to_item()))
    stand.table.write(Put(line.key, line.to_item()))


def _text(number: int) -> InboundSms:
    return InboundSms(
        account_sid=ACCOUNT,
        message_sid=f"SM{number:032d}",
        sender=PHONE,
        recipient=LINE,
        body=text(number + 1),
    )


def _jobs(stand: Stand, queue: QueueName, job_type: type[J]) -> list[J]:
    """Take all jobs from a queue."""
    return [job for job in stand.queues.ready(queue) if isinstance(job, job_type)]
