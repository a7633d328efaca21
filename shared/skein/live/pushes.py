"""Pushes: tell the people of a chat, over the live channel, what has changed in the chat.

A push job only names what has changed. The push reads the current state, and sends it to the people
who may see it now. So a frame may be missing or arrive twice, but is never wrong.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.errors import ConnectionGone, NotFound, SkeinError
from skein.live.api import (
    MAX_FRAME_BYTES,
    STATUSES,
    ChatFrame,
    Frame,
    InvitationFrame,
    MessageFrame,
    ReadFrame,
    RemovedFrame,
    ResyncFrame,
    RunAgent,
    RunFrame,
    TypingFrame,
    public_reason,
)
from skein.live.connections import LiveConnections
from skein.live.models.connection import OpenConnection, PersonConnections
from skein.live.notifications import Notifier
from skein.models.api.chats import ChatResource, MemberResource, MessageResource
from skein.models.chats.chat import Message
from skein.models.chats.media import MediaFile
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.storage import Item, Key
from skein.models.outbox.jobs import LiveEvent, PushJob
from skein.models.runs.run import Run
from skein.ports import Clock, Metrics, ParallelMap, Sockets, Table
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.chats.posted_media import files_of

OPENING = timedelta(seconds=10)  # the gateway may refuse frames for a connection that is opening

logger = logging.getLogger(__name__)


class Listener(NamedTuple):
    """A member with open connections."""

    membership: Membership
    connections: tuple[OpenConnection, ...]


class SentFrames(NamedTuple):
    """How many frames a connection was sent, and how many failed."""

    pushed: int
    lost: int


class _Changes(NamedTuple):
    """The current state of the items that a job names."""

    snapshot: ChatSnapshot
    events: Sequence[LiveEvent]
    found: Mapping[Key, Item]
    files: Mapping[str, MediaFile]
    now: datetime


_Send = tuple[OpenConnection, Sequence[Frame]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushes:
    """The service that sends frames to the people of a chat.

    Args:
        connections: Forgets connections that are gone.
        notifier: Notifies the phones of people who are not connected.
        parallel_map: Sends to several connections at once.
    """

    table: Table
    clock: Clock
    sockets: Sockets
    connections: LiveConnections
    notifier: Notifier
    parallel_map: ParallelMap
    metrics: Metrics

    def push(self, job: PushJob) -> None:
        """Send the frames for a chat's changes to all its people who are connected.

        One read gets the chat. Further reads get the people's connections, and the items that the
        job names. The number of reads does not grow with the number of frames. Phones are notified
        after the frames.

        Raises:
            Transient: The table or the push provider is out of reach.
        """
        try:
            snapshot = read_snapshot(self.table, job.tenant, job.chat_id)
        except NotFound:
            return
        snapshot = snapshot._replace(chat=snapshot.chat.at(self.clock.now()))
        sends = [*self._to_outsiders(job, snapshot), *self._news(job, snapshot)]
        counts = self.parallel_map(lambda send: self.send(*send), sends) if sends else []
        if pushed := sum(count.pushed for count in counts):
            self.metrics.count("FramesPushed", pushed)
        if lost := sum(count.lost for count in counts):
            self.metrics.count("FramesLost", lost)
        self.notifier.notify(
            job,
            snapshot,
            {
                connection.id
                for (connection, frames), count in zip(sends, counts, strict=True)
                if count.pushed == len(frames)
            },
        )

    def _news(self, job: PushJob, snapshot: ChatSnapshot) -> Iterator[_Send]:
        """Yield the frames to send to each member's connections."""
        listeners = self.listeners(snapshot)
        keys = _keys_of(job) if listeners else []
        found = self.table.get_many(keys) if keys else {}
        stored = (item for item in found.values() if Message.PREFIX.holds(item))
        files = files_of(self.table, Message.each_of(stored))
        changes = _Changes(snapshot, job.events, found, files, self.clock.now())
        for listener in listeners:
            if frames := _frames_for(listener.membership, changes):
                yield from ((connection, frames) for connection in listener.connections)

    def _to_outsiders(self, job: PushJob, snapshot: ChatSnapshot) -> Iterator[_Send]:
        """Yield the frames for people who have left and not rejoined, and for invited people."""
        tenant, chat_id = snapshot.chat.tenant, snapshot.chat.id
        members = {each.member.ref for each in snapshot.members if each.active}
        frames: dict[MemberRef, Frame] = {}
        for event in job.events:
            if event.type == "invitation" and event.member is not None:
                frames[event.member] = InvitationFrame(chat_id=chat_id)
            elif event.type == "left" and event.member is not None and event.member not in members:
                frames[event.member] = RemovedFrame(chat_id=chat_id)
        keys = {PersonConnections.key_of(tenant, member.id): frames[member] for member in frames}
        found = self.table.get_many(list(keys)) if keys else {}
        for person in PersonConnections.read_each(found):
            for connection in person.open_at(self.clock.now()):
                yield connection, [keys[person.key]]

    def listeners(self, snapshot: ChatSnapshot) -> list[Listener]:
        """Return the members of a chat with their open connections, in one read."""
        people = {
            PersonConnections.key_of(snapshot.chat.tenant, membership.member.id): membership
            for membership in snapshot.members
            if membership.active and membership.member.kind == "user"
        }
        found = self.table.get_many(list(people)) if people else {}
        now = self.clock.now()
        listeners = [
            Listener(people[person.key], person.open_at(now))
            for person in PersonConnections.read_each(found)
        ]
        return [listener for listener in listeners if listener.connections]

    def send(self, connection: OpenConnection, frames: Sequence[Frame]) -> SentFrames:
        """Send frames to one connection in order; after a failed frame, the rest are not sent.

        If the connection is gone, its frames do not count as failed.
        """
        pushed = lost = 0
        try:
            for frame in frames:
                self.sockets.push(connection.id, text_of(frame))
                pushed += 1
        except ConnectionGone:
            if connection.opened_at + OPENING <= self.clock.now():
                self.connections.disconnect(connection.id)
        except SkeinError:
            logger.warning("failed to push frames", exc_info=True)
            lost = len(frames) - pushed
        return SentFrames(pushed, lost)


def text_of(frame: Frame) -> str:
    """Return a frame as JSON; a frame over 32 KB becomes a `resync`."""
    text = frame.model_dump_json(exclude_none=isinstance(frame, RunFrame))
    if len(text.encode()) <= MAX_FRAME_BYTES:
        return text
    return ResyncFrame(chat_id=getattr(frame, "chat_id", "")).model_dump_json()


def _keys_of(job: PushJob) -> list[Key]:
    """Return the keys of the messages and runs that a job names, each once."""
    messages = [
        Message.key_of(job.tenant, job.chat_id, event.seq)
        for event in job.events
        if event.seq is not None and event.type in {"message", "changed"}
    ]
    runs = [
        Run.key_of(job.tenant, event.run_id)
        for event in job.events
        if event.run_id is not None and Run.lives_in(event.run_id, job.chat_id)
    ]
    return list(dict.fromkeys([*messages, *runs]))


def _frames_for(reader: Membership, changes: _Changes) -> list[Frame]:
    """Return the frames that a member may be sent now, in the order of the events."""
    frames: list[Frame] = []
    for event in changes.events:
        frames += [frame for frame in _frames_of(event, reader, changes) if frame not in frames]
    return frames


def _frames_of(event: LiveEvent, reader: Membership, changes: _Changes) -> Iterator[Frame]:
    snapshot, chat = changes.snapshot, changes.snapshot.chat
    if event.type == "resync":
        yield ResyncFrame(chat_id=chat.id)
    elif event.type == "chat":
        yield ChatFrame(chat_id=chat.id, chat=ChatResource.of(chat))
    elif event.type == "run" and event.run_id is not None:
        yield from _run_frames(event.run_id, reader, changes)
    elif event.seq is not None and event.type in {"message", "changed"}:
        stored = Message.read(changes.found, Message.key_of(chat.tenant, chat.id, event.seq))
        if stored is not None and event.seq > reader.joined_seq:
            message = chat.as_now(stored)
            gone = message.kind in {"deleted", "erased"}
            yield MessageFrame(
                type="changed" if gone else event.type,
                chat_id=chat.id,
                message=MessageResource.of(message, changes.now, changes.files),
            )
    elif event.member is not None and event.member != reader.member.ref:
        yield from _member_frames(event, event.member, reader, snapshot)


def _run_frames(run_id: str, reader: Membership, changes: _Changes) -> Iterator[Frame]:
    """Yield the frame of a run of the chat, if the reader may see what triggered the run."""
    chat = changes.snapshot.chat
    if not Run.lives_in(run_id, chat.id):
        return
    run = Run.read(changes.found, Run.key_of(chat.tenant, run_id))
    if run is None or run.merged_into is not None:
        return
    agent = changes.snapshot.member(MemberRef(kind="agent", id=run.agent_id))
    seq = run.trigger.seq
    if agent is None or (seq is not None and seq <= reader.joined_seq):
        return
    yield RunFrame(
        chat_id=chat.id,
        agent=RunAgent(id=agent.member.id, name=agent.member.name),
        status=STATUSES[run.status],
        reason=public_reason(run.status, run.reason),
    )


def _member_frames(
    event: LiveEvent, who: MemberRef, reader: Membership, snapshot: ChatSnapshot
) -> Iterator[Frame]:
    """Yield the frame of a member who has read or is typing."""
    membership = snapshot.member(who)
    if membership is None:
        return
    member = MemberResource.of(membership.member)
    if event.type == "typing":
        yield TypingFrame(chat_id=snapshot.chat.id, member=member)
    elif event.type == "read" and membership.seen_seq > reader.joined_seq:
        yield ReadFrame(chat_id=snapshot.chat.id, member=member, seq=membership.seen_seq)
