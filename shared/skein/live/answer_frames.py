"""Frames of a streamed answer: who may get them now, and which words each connection lacks."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from skein.errors import ConnectionGone, SkeinError
from skein.live.api import DeltaFrame, RetractFrame, RunAgent
from skein.live.models.connection import OpenConnection, PersonConnections
from skein.live.pushes import text_of
from skein.models.chats.chat import Chat
from skein.models.runs.run import Run
from skein.models.visibility.audience import Audience
from skein.models.visibility.sharing_rules import SharingStamp
from skein.ports import Clock, Metrics, ParallelMap, Sockets, Table
from skein.services.runs.claim import Claim
from skein.services.visibility.disclosure import made_for_all

logger = logging.getLogger(__name__)


class AnswerListeners(NamedTuple):
    """The chat and the agent of a frame, and the connections that may receive the frame now."""

    chat_id: str
    agent: RunAgent
    connections: tuple[OpenConnection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerFinder:
    """Finds the connections that may receive a frame of an activation's answer now.

    Args:
        readers: The readers for whom the activation was made.
        connected_ids: The ids of those readers who were connected at that time.
        sharing: The content that the activation's prompt may show only because of sharing rules;
            None if the prompt shows no such content.
    """

    table: Table
    clock: Clock
    claim: Claim
    readers: Audience
    connected_ids: tuple[str, ...]
    sharing: SharingStamp | None = None

    def find(self, *, with_words: bool) -> AnswerListeners | None:
        """Return who may receive a frame now. Sharing rules cost a second read of the table.

        Args:
            with_words: Whether the frame has words; False for a frame that retracts words.

        Returns:
            The listeners; None if the chat is gone, the agent has left the chat, another worker has
            the run, or the words will not be posted.

        Raises:
            Transient: The table is out of reach.
        """
        claimed = self.claim.run
        chat_key = Chat.key_of(claimed.tenant, claimed.own_chat_id or "")
        people = {
            PersonConnections.key_of(claimed.tenant, each): each for each in self.connected_ids
        }
        found = self.table.get_many([chat_key, claimed.key, *people])
        if chat_key not in found:
            return None
        chat = Chat.must_read(found, chat_key)
        agent = next((each for each in chat.roster if each.ref == self.claim.agent), None)
        run = Run.read(found, claimed.key)
        if agent is None or (with_words and not self._may_post(run, chat)):
            return None
        if run is not None and run.fence != claimed.fence:
            return None  # another worker has retracted the words
        now = self.clock.now()
        members = set(chat.person_ids)
        return AnswerListeners(
            chat.id,
            RunAgent(id=agent.id, name=agent.name),
            tuple(
                connection
                for key, person in people.items()
                if person in members and key in found
                for connection in PersonConnections.must_read(found, key).open_at(now)
            ),
        )

    def _may_post(self, run: Run | None, chat: Chat) -> bool:
        """Return whether this worker still has the run, and may post its answer in the chat."""
        return (
            run is not None
            and run.status == "running"
            and run.fence == self.claim.run.fence
            and chat.discarded_at is None
            and not chat.held
            and made_for_all(self.readers, chat)
            and run.tells_shared(self.table, self.clock.now())
            and (
                self.sharing is None or self.sharing.holds(self.table, run.tenant, self.clock.now())
            )
        )


class _Sent(NamedTuple):
    """The words that were sent to a connection, and the number of the last frame."""

    text: str = ""
    n: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFrames:
    """Sends the words of an answer that each connection does not have yet.

    Only one task at a time may use its state.

    Args:
        sockets: Returns the open connections.
        parallel_map: Sends to several connections at once.
        after_earlier: Whether an earlier attempt may have sent words, which are retracted first.
    """

    sockets: Callable[[], Sockets]
    parallel_map: ParallelMap
    metrics: Metrics
    after_earlier: bool
    _sent: dict[str, _Sent] = field(default_factory=dict)  # by connection
    _lost: set[str] = field(default_factory=set)  # connections that may have missed words

    def send(self, listeners: AnswerListeners, words: str) -> None:
        """Make all connections show the given words; "" retracts the words that were sent."""

        def push(connection: OpenConnection) -> None:
            self._push(connection.id, self._frames(listeners, connection.id, words))

        self.parallel_map(push, listeners.connections)

    def _frames(
        self, listeners: AnswerListeners, connection_id: str, words: str
    ) -> list[DeltaFrame | RetractFrame]:
        """Return the frames that a connection does not have yet, and record them as sent."""
        frames: list[DeltaFrame | RetractFrame] = []
        sent = self._sent.get(connection_id)
        if self.after_earlier if sent is None else not words.startswith(sent.text):
            frames.append(RetractFrame(chat_id=listeners.chat_id, agent=listeners.agent))
            sent = None
        text, n = sent or _Sent()
        new = words[len(text) :]
        if new and connection_id not in self._lost:
            text, n = words, n + 1
            frames.append(
                DeltaFrame(chat_id=listeners.chat_id, agent=listeners.agent, n=n, text=new)
            )
        self._sent[connection_id] = _Sent(text, n)
        return frames

    def _push(self, connection_id: str, frames: list[DeltaFrame | RetractFrame]) -> None:
        """Send frames over a connection; after a failure, the connection gets no more words."""
        if not frames:
            return
        sockets = self.sockets()
        try:
            for frame in frames:
                sockets.push(connection_id, text_of(frame))
        except ConnectionGone:
            self._lost.add(connection_id)
        except SkeinError:
            logger.warning("failed to push words", exc_info=True)
            self._lost.add(connection_id)
            self.metrics.count("FramesLost", len(frames))
        else:
            self.metrics.count("FramesPushed", len(frames))
