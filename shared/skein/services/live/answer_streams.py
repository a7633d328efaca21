"""Answer streams: send the words of an answer to its readers while the model writes them.

The words are sent in the background, so that they neither delay nor fail the turn. Before each
frame, the sender reads who may read the chat now, and whether the worker still has the run. The
message that follows replaces the words. A `retract` follows if there is no such message.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import NamedTuple

from skein.errors import ConnectionGone, SkeinError
from skein.models.api.live import DeltaFrame, RetractFrame, RunAgent
from skein.models.chats.chat import Chat
from skein.models.common.audience import Audience
from skein.models.live.connection import OpenConnection, PersonConnections
from skein.models.runs.run import Run
from skein.ports import Background, Clock, Metrics, Sockets, Table
from skein.services.common.parallel import ParallelMap
from skein.services.live.pushes import text_of
from skein.services.runs.claim import Claim
from skein.services.runs.disclosure import made_for_all

PAUSE = timedelta(milliseconds=250)  # between the frames of an answer
MAX_FAILURES = 5  # after which a stream is given up
RETRACT_SECONDS = 1.0  # that the end of a turn waits for a retract

logger = logging.getLogger(__name__)


class _Sent(NamedTuple):
    """The words that a connection has been sent, and the number of the last frame."""

    text: str = ""
    n: int = 0


class _Target(NamedTuple):
    """The chat and the agent of a frame, and the connections that may be sent it now."""

    chat_id: str
    agent: RunAgent
    connections: tuple[OpenConnection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStreams:
    """Sender of answers while the model writes them.

    Args:
        table: The table, from which each frame reads who may read the chat.
        clock: The clock.
        sockets: Returns the open connections.
        background: Sends the frames.
        parallel_map: Sends to several connections at once.
        metrics: Counts frames and failures.
    """

    table: Table
    clock: Clock
    sockets: Callable[[], Sockets]
    background: Background
    parallel_map: ParallelMap
    metrics: Metrics

    def open(
        self,
        claim: Claim,
        readers: Audience,
        people: Sequence[str],
        *,
        start_of: Callable[[str], str],
    ) -> "AnswerStream":
        """Open the stream of an activation's answer in the run's own chat.

        If an earlier attempt of the run may have sent words, they are retracted.

        Args:
            claim: The run's claim.
            readers: The readers for whom the activation was made.
            people: The ids of the readers who are connected.
            start_of: Returns the start of an unfinished text that people will read in any case.
        """
        stream = AnswerStream(self, claim, readers, tuple(people), start_of)
        stream.retract()
        return stream

    def finish(self) -> None:
        """Wait, for a second at most, until the last frames of a turn are sent.

        A container stops between invocations, and would send these frames much later.
        """
        self.background.finish(RETRACT_SECONDS)


class AnswerStream:
    """The stream of one activation's answer; see `AnswerStreams.open`.

    The state of the connections is used by one task at a time, in the background.
    """

    def __init__(
        self,
        streams: AnswerStreams,
        claim: Claim,
        readers: Audience,
        people: tuple[str, ...],
        start_of: Callable[[str], str],
    ) -> None:
        self._streams = streams
        self._run = claim.run
        self._agent = claim.agent
        self._readers = readers
        self._people = people
        self._start_of = start_of
        self._again = claim.run.attempts > 1 or claim.run.put_offs > 0
        self._lock = Lock()
        self._text = ""  # of the model so far; '' retracts what was sent
        self._stopped = False  # no more words
        self._posted = False
        self._waiting = False  # a task waits to send
        self._begun = False
        self._shown = ""  # the words that were sent
        self._next_at = streams.clock.now()
        self._failures = 0
        self._sent: dict[str, _Sent] = {}
        self._lost: set[str] = set()  # connections that may have missed words

    def show(self, text: str) -> None:
        """Send the words of an answer that are new and certain, at most 4 times a second.

        Args:
            text: The whole text of the model so far.
        """
        with self._lock:
            if self._stopped or self._failures >= MAX_FAILURES:
                return
            self._text = text
        self._send_later()

    def retract(self) -> None:
        """Void the words that this attempt or an earlier one has sent; others may follow."""
        with self._lock:
            self._text = ""
            if not self._shown and (self._begun or not self._again):
                return
            self._next_at = self._streams.clock.now()
            self._waiting = False  # the task that waits is too late
        self._send_later()

    def stop(self, final: str | None) -> None:
        """Send no more words: the answer is complete.

        Args:
            final: The message that will be posted; None if there is none.
        """
        with self._lock:
            self._stopped = True
            keeps = final is not None and final.startswith(self._shown)
        if not keeps:
            self.retract()

    def posted(self) -> None:
        """Keep the words that were sent, because the message that replaces them is posted."""
        with self._lock:
            self._stopped = self._posted = True

    def close(self) -> None:
        """End the stream and, without a posted message, retract its words (idempotent)."""
        if not self._posted:
            self.stop(None)

    def _send_later(self) -> None:
        """Send when the pause after the last frame is over."""
        with self._lock:
            if self._waiting:
                return
            self._waiting = True
            seconds = (self._next_at - self._streams.clock.now()).total_seconds()
        if not self._streams.background.later(max(seconds, 0), self._send):
            with self._lock:
                self._waiting = False
            logger.warning("too many answers are streamed at once")
            self._streams.metrics.count("StreamsFailed")

    def _send(self) -> None:
        """Send what is new; after a failure, try again."""
        with self._lock:
            self._waiting = False
            text = self._text
            if self._posted or (self._stopped and text):
                return
        try:
            self._send_words(text)
        except Exception:
            logger.exception("failed to stream an answer")
            self._streams.metrics.count("StreamsFailed")
            self._failures += 1
            self._next_at = self._streams.clock.now() + PAUSE
        with self._lock:
            more = self._text != text if not self._failures else self._failures < MAX_FAILURES
        if more:
            self._send_later()

    def _send_words(self, text: str) -> None:
        """Send the certain part of a text, or with '' a retract, as far as that is new."""
        words = self._start_of(text) if text else ""
        if (text and not words) or (words == self._shown and (self._begun or not self._again)):
            return
        target = self._target(words)
        if target is None:
            if words:
                self.stop(None)  # the answer will not be posted
            return
        with self._lock:
            if words and self._stopped:
                return
            self._shown, self._begun = words, True
            self._next_at = self._streams.clock.now() + PAUSE
        self._streams.parallel_map(lambda each: self._push(target, each, words), target.connections)
        self._failures = 0
        if words and self._posted:  # the words may have come after the message
            self._streams.parallel_map(
                lambda each: self._push(target, each, ""), target.connections
            )

    def _target(self, words: str) -> _Target | None:
        """Return who may be sent a frame now; None if the words will not be posted, or no chat.

        Raises:
            Transient: The table is out of reach.
        """
        run = self._run
        chat_key = Chat.key_of(run.tenant, run.own_chat_id or "")
        people = {PersonConnections.key_of(run.tenant, each): each for each in self._people}
        found = self._streams.table.get_many([chat_key, run.key, *people])
        if chat_key not in found:
            return None
        chat = Chat.from_item(found[chat_key])
        agent = next((each for each in chat.roster if each.ref == self._agent), None)
        now = Run.from_item(found[run.key]) if run.key in found else None
        if agent is None or (words and not self._goes_on(now, chat)):
            return None
        if now is not None and now.fence != self._run.fence:
            return None  # another worker has retracted the words
        moment = self._streams.clock.now()
        members = set(chat.person_ids)
        return _Target(
            chat.id,
            RunAgent(id=agent.id, name=agent.name),
            tuple(
                connection
                for key, person in people.items()
                if person in members and key in found
                for connection in PersonConnections.from_item(found[key]).open_at(moment)
            ),
        )

    def _goes_on(self, run: Run | None, chat: Chat) -> bool:
        """Return whether this worker still has the run, and may post its answer in the chat."""
        return (
            run is not None
            and run.status == "running"
            and run.fence == self._run.fence
            and chat.discarded_at is None
            and made_for_all(self._readers, chat)
        )

    def _push(self, target: _Target, connection: OpenConnection, words: str) -> None:
        """Send one connection what it lacks of the words, after a retract of other words."""
        sent = self._sent.get(connection.id)
        frames: list[DeltaFrame | RetractFrame] = []
        if (sent is None and self._again) or (sent and not words.startswith(sent.text)):
            frames.append(RetractFrame(chat_id=target.chat_id, agent=target.agent))
            sent = None
        known = sent or _Sent()
        new = words[len(known.text) :]
        if new and connection.id not in self._lost:
            known = _Sent(words, known.n + 1)
            frames.append(
                DeltaFrame(chat_id=target.chat_id, agent=target.agent, n=known.n, text=new)
            )
        self._sent[connection.id] = known
        metrics, sockets = self._streams.metrics, self._streams.sockets()
        try:
            for frame in frames:
                sockets.push(connection.id, text_of(frame))
        except ConnectionGone:
            self._lost.add(connection.id)
        except SkeinError:
            logger.warning("failed to push words", exc_info=True)
            self._lost.add(connection.id)
            metrics.count("FramesLost", len(frames))
        else:
            if frames:
                metrics.count("FramesPushed", len(frames))
