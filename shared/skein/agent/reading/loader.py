"""The context loader, which returns a full reading or a degraded context.

A degraded context replaces a full reading that fails or takes too long. A degraded context holds
only the current message, so that a waiting person still gets an answer. Prompts for people outside
the context roll-out also hold only the current message.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from skein.agent.reading.fallback import can_degrade, read_degraded, without_context
from skein.agent.reading.reader import NOTHING, Reader
from skein.errors import Rejected, Unavailable
from skein.interface.reading import READ_SECONDS, Reading, person_at
from skein.models.chats.chat import Chat
from skein.models.chats.membership import Membership
from skein.models.common.base import stable_hash
from skein.models.config.overrides import RolloutSettings
from skein.models.runs.run import Run
from skein.ports import Clock, Metrics, Table
from skein.services.runs.claim import PrefetchedItems
from skein.settings import Settings

SHARES = 10_000  # equal shares of all people, for the roll-out
EVERYBODY = 100  # percent

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLoader:
    """Loader of the readings from which prompts are built.

    Args:
        reader: Makes full readings.
        table: The table that a degraded context is read from.
        clock: The clock, which also bounds the reading time.
        settings: The time limit of a reading, and the context roll-out.
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
        prefetched: PrefetchedItems = NOTHING,
    ) -> Reading:
        """Read the data for a new activation, or a degraded context.

        Args:
            chat: The active chat.
            member: The agent's membership in the active chat.
            prefetched: The items that were just read together with the run.

        Raises:
            NotFound: The agent is gone.
            Transient: There is no current message to answer without context, or reading that
                message also failed.
        """
        return self._limited(run, self._whole_or_degraded(run, chat, member, prefetched))

    def whole(self, run: Run, chat: Chat | None, member: Membership | None) -> Reading:
        """Read the data for a prompt in full, without a time limit, for an operator.

        Raises:
            NotFound: The agent is gone.
            Transient: Reading failed.
        """
        return self._limited(run, self.reader.read(run, chat, member))

    def _whole_or_degraded(
        self,
        run: Run,
        chat: Chat | None,
        member: Membership | None,
        prefetched: PrefetchedItems,
    ) -> Reading:
        try:
            return self._in_time(lambda: self.reader.read(run, chat, member, prefetched))
        except Rejected:
            raise
        except Exception as error:
            if not can_degrade(run, chat):
                raise
            reading = read_degraded(
                self.table, run, chat, member, now=self.clock.now(), settings=self.settings
            )
            logger.warning("failed to read the context", extra={"run_id": run.id}, exc_info=error)
            self.metrics.count("ContextDegraded")
            return reading

    def again(
        self,
        run: Run,
        chat: Chat | None,
        member: Membership | None,
        prefetched: PrefetchedItems = NOTHING,
    ) -> Reading:
        """Read the data for an activation with a recorded prompt, without a time limit.

        Later steps still depend on that prompt, so the audience must include everything that the
        prompt showed. The audience of a degraded context would not.

        Args:
            chat: The chat that the prompt showed.
            member: The agent's membership in that chat.
            prefetched: The items that were just read together with the run.

        Raises:
            NotFound: The agent is gone.
            Transient: Reading failed.
        """
        return self.reader.read(run, chat, member, prefetched, recalls=False)

    def _limited(self, run: Run, reading: Reading) -> Reading:
        """Remove the context from the reading if the phone number may have a new owner.

        The same happens if the roll-out does not include the chat's person.
        """
        if reading.unproven is not None:
            return replace(without_context(run, reading), prompt_mark="number_unproven")
        person = person_at(reading.chat)
        if person is None or gets_context(person.id, reading.config.effective):
            return reading
        return without_context(run, reading)

    def _in_time(self, read: Callable[[], Reading]) -> Reading:
        """Read within `READ_SECONDS`.

        A reading that takes longer is abandoned, not interrupted.

        Raises:
            Unavailable: Reading took too long.
        """
        try:
            return self.clock.within(READ_SECONDS, read)
        except TimeoutError:
            raise Unavailable("reading the context timed out") from None


def gets_context(user_id: str, settings: RolloutSettings) -> bool:
    """Return whether this person's agents get context; stable per person."""
    share = settings.context_rollout_percent * SHARES / EVERYBODY
    return settings.context_enabled and share_of(user_id) < share


def share_of(user_id: str) -> int:
    """Return a person's share, a fixed number from 0 to 9,999."""
    return stable_hash(f"context:{user_id}") % SHARES
