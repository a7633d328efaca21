"""One short apology to a person on SMS whose answer is late because the model is down.

One per outage, not one per message. As a person sees it, an outage lasts until the agent has
answered them again; the agent's membership remembers that it has said so (`late_since`).
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from skein.errors import LostLease, Rejected, RiderFailed, SkeinError, Transient
from skein.models.base import rfc3339
from skein.models.storage import Absent, Is, Update, Write, all_of
from skein.ports import Clock, Metrics
from skein.services.chat_state.snapshot import Room
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.config.resolution import effective_in
from skein.services.runs.claim import Claim
from skein.settings import Settings

PATIENT_PUT_OFFS = 2  # by then half a minute has gone by, so it is no passing fault

logger = logging.getLogger(__name__)


class _NobodyToTell(SkeinError):
    """Nobody is on SMS here, or they were told already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apologies:
    """Says sorry, once.

    Args:
        chats: By which it is said.
        clock: The time.
        metrics: Counts the apologies.
        settings: Whether, and in which words.
    """

    chats: Chats
    clock: Clock
    metrics: Metrics
    settings: Settings

    def late(self, claim: Claim) -> None:
        """Say sorry for a run that is about to be put off because the model is down.

        Only where a person on SMS asked in a direct chat, the settings allow it, and the run was
        put off `PATIENT_PUT_OFFS` times before. What goes wrong is no reason to hold the run up:
        the next put-off tries again.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        run, chat, member = claim.run, claim.chat, claim.member
        by = run.trigger.by
        if chat is None or chat.kind != "direct" or by is None or by.kind != "user":
            return
        if member is None or member.late_since is not None:
            return
        if run.put_offs < PATIENT_PUT_OFFS:
            return
        if not effective_in(chat, self.settings).apology:
            return
        apology = NewMessage(
            tenant=run.tenant,
            chat_id=chat.id,
            sender=claim.agent,
            text=self.settings.apology_text,
            client_id=f"late:{run.id}:{run.put_offs}",
            kind="notice",
            run_id=run.id,
        )
        try:
            posted = self.chats.post_message(apology, riders=lambda room: self._once(claim, room))
        except _NobodyToTell:
            return
        except RiderFailed as error:
            raise LostLease(run.id) from error
        except (Rejected, Transient) as error:
            logger.warning("an apology was not said", extra={"run_id": run.id}, exc_info=error)
            return
        if posted.created:
            self.metrics.count("Apologies")

    def _once(self, claim: Claim, room: Room) -> Sequence[Write]:
        """The run is still the worker's, and the agent says it for the first time.

        Raises:
            _NobodyToTell: There is nobody to tell, or it was said.
        """
        agent = room.member(claim.agent)
        if agent is None or agent.late_since is not None:
            raise _NobodyToTell
        if not any(
            person.active and person.sms is not None and person.sms_opted_out_at is None
            for person in room.members
        ):
            raise _NobodyToTell
        said = Update(
            agent.key,
            set={"late_since": rfc3339(self.clock.now())},
            condition=all_of(
                Absent("late_since"), Absent("left_seq"), Is("chat_id", agent.chat_id)
            ),
        )
        return (claim.guard, said)
