"""A context in time: read whole, or, where that fails or takes too long, the current message alone.

A person who waits is better served by an answer to what they just said than by none. And those whom
the roll-out of context has not reached yet get the plain prompt.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from skein.agent.reading.fallback import can_do_alone, read_alone, without_context
from skein.agent.reading.reader import NOTHING, Reader, Reading, person_at
from skein.errors import Rejected, Unavailable
from skein.models.chat import Chat, Membership
from skein.models.run import Run
from skein.ports import Clock, Metrics, Table
from skein.services.config.rollout import gets_context
from skein.services.runs.claim import Known
from skein.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLoader:
    """Reads what prompts are made from.

    Args:
        reader: Reads all of it.
        table: Where the little is read without which there is no answer at all.
        clock: The time.
        metrics: Counts the answers that had to do with little.
        settings: How long reading may take, and who gets context at all.
    """

    reader: Reader
    table: Table
    clock: Clock
    metrics: Metrics
    settings: Settings

    def fresh(
        self,
        run: Run,
        chat: Chat | None,
        member: Membership | None,
        known: Known = NOTHING,
    ) -> Reading:
        """Read for a new activation, whole or in part.

        Args:
            run: Which run.
            chat: The chat that it looks at.
            member: The agent's place there.
            known: What was read with the run, just now.

        Raises:
            NotFound: The agent is gone.
            Transient: There is no current message that could be answered alone, or it could not be
                read either.
        """
        return self._limited(run, self._whole_or_alone(run, chat, member, known))

    def whole(self, run: Run, chat: Chat | None, member: Membership | None) -> Reading:
        """Read what a prompt would be made from now, for an operator who can wait.

        Raises:
            NotFound: The agent is gone.
            Transient: It could not be read.
        """
        return self._limited(run, self.reader.read(run, chat, member))

    def _whole_or_alone(
        self,
        run: Run,
        chat: Chat | None,
        member: Membership | None,
        known: Known,
    ) -> Reading:
        try:
            return self._in_time(lambda: self.reader.read(run, chat, member, known))
        except Rejected:
            raise
        except Exception as error:
            if not can_do_alone(run, chat):
                raise
            reading = read_alone(
                self.table, run, chat, member, now=self.clock.now(), settings=self.settings
            )
            logger.warning("a context could not be read", extra={"run_id": run.id}, exc_info=error)
            self.metrics.count("ContextDegraded")
            return reading

    def again(
        self,
        run: Run,
        chat: Chat | None,
        member: Membership | None,
        known: Known = NOTHING,
    ) -> Reading:
        """Read for an activation whose prompt is recorded: whole, however long it takes.

        What is said and made now is still made from that prompt, so the audience must be that of
        all it showed.

        Args:
            run: Which run.
            chat: The chat that the prompt showed.
            member: The agent's place there.
            known: What was read with the run, just now.

        Raises:
            NotFound: The agent is gone.
            Transient: It could not be read.
        """
        return self.reader.read(run, chat, member, known)

    def _limited(self, run: Run, reading: Reading) -> Reading:
        """The reading, or the little of it that somebody gets whom the roll-out leaves out."""
        person = person_at(reading.chat)
        if person is None or gets_context(person.id, reading.tenant, reading.stack, self.settings):
            return reading
        return without_context(run, reading)

    def _in_time(self, read: Callable[[], Reading]) -> Reading:
        """Read within the time budget; what takes longer is left to end by itself.

        Raises:
            Unavailable: It took too long.
        """
        try:
            return self.clock.within(self.settings.context_read_seconds, read)
        except TimeoutError:
            raise Unavailable("reading the context took too long") from None
