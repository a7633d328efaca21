"""Context loader: reads everything for a prompt, or only a degraded context.

If reading everything fails or takes too long, a degraded context with only the messages to answer
is used, so that a waiting person still gets an answer. Prompts for people outside the context
roll-out also show only the messages to answer.
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
    """Service that loads the data from which prompts are built.

    Args:
        reader: Reads everything for a prompt.
        table: The table from which a degraded context is read.
        clock: The clock, which also enforces the time limit.
        metrics: Where degraded contexts are counted.
        settings: The deployment's settings, from which a degraded context is built.
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
        """Read the data for a new activation; if that fails, read a degraded context.

        Args:
            chat: The active chat.
            member: The agent's membership in the active chat.
            prefetched: The items that were just read together with the run.

        Raises:
            NotFound: The agent no longer exists.
            Transient: Reading failed. The run cannot answer without context, or reading a degraded
                context also failed.
        """
        return self._limited(run, self._whole_or_degraded(run, chat, member, prefetched))

    def whole(self, run: Run, chat: Chat | None, member: Membership | None) -> Reading:
        """Read everything for a prompt that an operator requests, without a time limit.

        Raises:
            NotFound: The agent no longer exists.
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
        """Read the data for an activation whose prompt is recorded, without a time limit.

        Later steps depend on the recorded prompt. Their audience must take account of everything
        that the prompt showed, so a degraded context cannot be used.

        Args:
            chat: The chat that the prompt showed.
            member: The agent's membership in that chat.
            prefetched: The items that were just read together with the run.

        Raises:
            NotFound: The agent no longer exists.
            Transient: Reading failed.
        """
        return self.reader.read(run, chat, member, prefetched, recalls=False)

    def _limited(self, run: Run, reading: Reading) -> Reading:
        """Remove the context from the data for a prompt if the person's phone number is unproven.

        An unproven number may have a new owner. The context is also removed if the roll-out does
        not include the chat's person.
        """
        if reading.unproven is not None:
            return replace(without_context(run, reading), prompt_mark="number_unproven")
        person = person_at(reading.chat)
        if person is None or gets_context(person.id, reading.config.effective):
            return reading
        return without_context(run, reading)

    def _in_time(self, read: Callable[[], Reading]) -> Reading:
        """Call `read`, and wait at most `READ_SECONDS` for its result.

        A call that takes longer is abandoned, not interrupted.

        Raises:
            Unavailable: Reading took too long.
        """
        try:
            return self.clock.within(READ_SECONDS, read)
        except TimeoutError:
            raise Unavailable("reading the context timed out") from None


def gets_context(user_id: str, settings: RolloutSettings) -> bool:
    """Return whether the roll-out includes a person, so that prompts for them get context.

    A person who is included stays included while the percentage grows.
    """
    share = settings.context_rollout_percent * SHARES / EVERYBODY
    return settings.context_enabled and share_of(user_id) < share


def share_of(user_id: str) -> int:
    """Return a fixed number from 0 to 9,999 for a person, which the roll-out uses."""
    return stable_hash(f"context:{user_id}") % SHARES
