"""Frames from clients: ping, typing, and the chat that is shown."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic import TypeAdapter, ValidationError

from skein.errors import ConditionFailed
from skein.live.api import (
    MAX_CLIENT_FRAME_BYTES,
    ClientFrame,
    Ping,
    PongFrame,
    Showing,
    Typing,
)
from skein.live.connections import LiveConnections
from skein.live.models.connection import Connection
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.storage import Absent, Below, Exists, Update, all_of, any_of
from skein.models.outbox.jobs import LiveEvent, PushJob
from skein.ports import Clock, Table
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.read_limits import FrameLimits

TYPING_PAUSE = timedelta(seconds=3)

_FRAMES: TypeAdapter[Any] = TypeAdapter(ClientFrame)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFrames:
    """The service that handles the frames that clients send.

    Args:
        connections: Finds the person of a connection, answers a ping, and closes connections.
        limits: Admits the frames of a connection.
    """

    table: Table
    clock: Clock
    connections: LiveConnections
    dispatch: Dispatch
    limits: FrameLimits

    def receive(self, connection_id: str, text: str) -> None:
        """Handle a frame; an invalid frame closes the connection.

        Raises:
            Transient: The table is out of reach; the frame is lost.
        """
        if not self.limits.admit(connection_id):
            self.connections.close(connection_id, "too_many_frames")
            return
        connection = self.connections.find(connection_id)
        if connection is None:
            self.connections.close(connection_id, "expired")
            return
        if len(text.encode(errors="surrogatepass")) > MAX_CLIENT_FRAME_BYTES:
            self.connections.close(connection_id, "frame_too_large")
            return
        try:
            frame: Ping | Typing | Showing = _FRAMES.validate_json(
                text.encode(errors="surrogatepass")
            )
        except ValidationError:
            self.connections.close(connection_id, "bad_frame")
            return
        if isinstance(frame, Ping):
            self.connections.answer(connection_id, PongFrame())
        elif isinstance(frame, Showing):
            self.connections.show(connection, frame.chat_id)
        else:
            self._typing(connection, frame.chat_id)

    def _typing(self, connection: Connection, chat_id: str) -> None:
        """Send a typing frame to the other members, at most every 3 seconds per connection."""
        person = MemberRef(kind="user", id=connection.user_id)
        membership = Membership.read(
            self.table, Membership.key_of(connection.tenant, chat_id, person)
        )
        if membership is None or not membership.active:
            return
        now = self.clock.now()
        pause_over = any_of(Absent("typed_at"), Below("typed_at", rfc3339(now - TYPING_PAUSE)))
        try:
            self.table.write(
                Update(
                    connection.key,
                    set={"typed_at": rfc3339(now)},
                    condition=all_of(Exists(), pause_over),
                )
            )
        except ConditionFailed:
            return
        event = LiveEvent(type="typing", member=person)
        self.dispatch.send([PushJob(tenant=connection.tenant, chat_id=chat_id, events=(event,))])
