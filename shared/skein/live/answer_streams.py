"""Answer streams: send the words of an answer to its readers while the model writes them.

The words are sent in the background, so that they neither delay nor fail the turn. Before each
frame, the sender checks who may read the chat now, and whether the worker still has the run. The
posted message replaces the words. If no message is posted, a `retract` frame follows.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING

from skein.models.visibility.audience import Audience
from skein.models.visibility.sharing_rules import SharingStamp
from skein.ports import Background, Clock, Metrics, ParallelMap, Sockets, Table
from skein.services.runs.claim import Claim

if TYPE_CHECKING:  # only if someone is listening
    from skein.live.answer_frames import AnswerFrames, ListenerFinder

# Between the frames of an answer: 0, 1, 2, 4, 8, 12 ... seconds after the first one. Each frame to
# each reader is billed, and people mainly care that the first words appear at once.
PAUSES = tuple(timedelta(seconds=seconds) for seconds in (1, 1, 2, 4))
MAX_FAILURES = 5  # after which a stream is abandoned
RETRACT_SECONDS = 1.0  # how long the end of a turn waits for a retract

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStreams:
    """The service that streams answers while the model writes them.

    Args:
        table: The table, which is read before each frame to check who may read the chat.
        sockets: Returns the open connections.
        background: Sends the frames.
        parallel_map: Sends to several connections at once.
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
        sharing: SharingStamp | None = None,
    ) -> "AnswerStream":
        """Open the stream of an activation's answer in the run's own chat.

        If an earlier attempt of the run may have sent words, they are retracted.

        Args:
            readers: The readers for whom the activation was made.
            people: The ids of the readers who are connected.
            start_of: Returns as much of an unfinished text, from its start, as is certain to be
                posted.
            sharing: The content that the activation's prompt may show only because of sharing
                rules; None if the prompt shows no such content.
        """
        from skein.live.answer_frames import AnswerFrames, ListenerFinder

        has_earlier = claim.run.attempts > 1 or claim.run.deferrals > 0
        stream = AnswerStream(
            self,
            ListenerFinder(
                table=self.table,
                clock=self.clock,
                claim=claim,
                readers=readers,
                connected_ids=tuple(people),
                sharing=sharing,
            ),
            AnswerFrames(
                sockets=self.sockets,
                parallel_map=self.parallel_map,
                metrics=self.metrics,
                after_earlier=has_earlier,
            ),
            start_of,
            shown=None if has_earlier else "",
        )
        stream.retract()
        return stream

    def finish(self) -> None:
        """Wait, for at most one second, until the last frames of a turn are sent.

        The container may be suspended after the invocation, and would then send these frames much
        later.
        """
        self.background.finish(RETRACT_SECONDS)


class AnswerStream:
    """The stream of one activation's answer; see `AnswerStreams.open`.

    The turn calls `show` with all that the model has written so far. One background task at a time
    sends the start of the text that is certain to be posted, waits for the pause, and sends again
    if there is more.
    """

    def __init__(
        self,
        streams: AnswerStreams,
        listeners: "ListenerFinder",
        frames: "AnswerFrames",
        start_of: Callable[[str], str],
        *,
        shown: str | None,
    ) -> None:
        self._streams = streams
        self._listeners = listeners
        self._frames = frames
        self._start_of = start_of
        self._lock = Lock()
        self._text = ""  # of the model so far; "" retracts the words that were sent
        self._shown = shown  # the words that were sent; None: unknown
        self._stopped = False  # the answer is complete: no more words, but a retract
        self._posted = False  # the message replaces the words: no retract either
        self._waiting = False  # a task waits for the pause
        self._next_at = streams.clock.now()
        self._sent = 0  # frames with words
        self._failures = 0  # in a row

    def show(self, text: str) -> None:
        """Send the new words that are certain to be posted, with pauses in between (`PAUSES`).

        Args:
            text: All that the model has written so far.
        """
        with self._lock:
            if self._stopped or self._failures >= MAX_FAILURES:
                return
            self._text = text
        self._send_later()

    def retract(self) -> None:
        """Retract the words that this or an earlier attempt has sent; new words may follow."""
        with self._lock:
            self._text = ""
            if self._shown == "":
                return
            self._next_at = self._streams.clock.now()
            self._waiting = False  # the task that waits is too late
        self._send_later()

    def stop(self, final: str | None) -> None:
        """Send no more words, because the answer is complete.

        Words that were sent are retracted unless the final message begins with them.

        Args:
            final: The message that will be posted; None if no message will be posted.
        """
        with self._lock:
            self._stopped = True
            keeps = final is not None and final.startswith(self._shown or "")
        if not keeps:
            self.retract()

    def posted(self) -> None:
        """Keep the sent words: the posted message replaces them, so no retract follows."""
        with self._lock:
            self._stopped = self._posted = True

    def close(self) -> None:
        """End the stream, and retract its words if no message was posted (idempotent)."""
        if not self._posted:
            self.stop(None)

    def _send_later(self) -> None:
        """Schedule one task, which sends new words after the pause that follows the last frame."""
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
        """Send the new words; send again if more words have come meanwhile, or after a failure."""
        with self._lock:
            self._waiting = False
            text = self._text
            if self._posted or (self._stopped and text):
                return
        try:
            self._send_start(text)
        except Exception:
            logger.exception("failed to stream an answer")
            self._streams.metrics.count("StreamsFailed")
            with self._lock:
                self._failures += 1
                self._next_at = self._streams.clock.now() + PAUSES[0]
                again = self._failures < MAX_FAILURES
        else:
            with self._lock:
                self._failures = 0
                again = self._text != text
        if again:
            self._send_later()

    def _send_start(self, text: str) -> None:
        """Send the start of a text that is certain to be posted; "" retracts what was sent."""
        words = self._start_of(text) if text else ""
        if words == self._shown or (text and not words):
            return
        listeners = self._listeners.find(with_words=words != "")
        if listeners is None:
            if words:
                self.stop(None)  # the answer will not be posted
            return
        with self._lock:
            if words and self._stopped:
                return
            self._shown = words
            pause = PAUSES[min(self._sent, len(PAUSES) - 1)]
            self._next_at = self._streams.clock.now() + pause
            self._sent += 1
        self._frames.send(listeners, words)
        if words and self._posted:  # the words may have come after the message
            self._frames.send(listeners, "")
