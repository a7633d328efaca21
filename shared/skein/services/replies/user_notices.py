"""Tell a person who waits for an answer why there is none.

- `Notices`: a limit is used up. One notice in a direct chat for each time over the limit.
- `Apologies`: the model is down. One apology by SMS per outage. As a person sees it, an outage
  lasts until the agent has answered them again; the agent's membership remembers that it has said
  so (`late_since`).
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from skein.errors import (
    Conflict,
    ExtraWriteFailed,
    LostLease,
    NotFound,
    Rejected,
    SkeinError,
    Transient,
)
from skein.models.base import MemberRef, rfc3339
from skein.models.limit import Over, notice_id
from skein.models.storage import Absent, Is, Update, Write, all_of
from skein.ports import Clock, Metrics
from skein.prompts import render
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import Chats, ExtraWrites, NewMessage
from skein.services.config.resolution import effective_in
from skein.services.quotas.rate_limits import RateLimiter, Refusal
from skein.services.quotas.token_budget import payer_of
from skein.services.runs.claim import Claim
from skein.settings import Settings

MINUTE_SECONDS = 60
HOUR_MINUTES = 60
SINGULAR = 1
PATIENT_PUT_OFFS = 2  # by then half a minute has gone by, so it is no passing fault

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """Tells people why there is silence."""

    chats: Chats
    limits: RateLimiter
    clock: Clock

    def over_limit(
        self,
        over: Over,
        *,
        tenant: str,
        chat_id: str,
        agent: MemberRef,
        user_id: str,
        extra_writes: ExtraWrites | None = None,
    ) -> None:
        """Say in a direct chat, once for each time over a limit, that nobody answers, and how long.

        Args:
            over: Since when, and until when.
            tenant: Whose chat.
            chat_id: Which chat.
            agent: Who says it; must be in the chat.
            user_id: The person.
            extra_writes: See `Chats.post_message`.

        Raises:
            Rejected, RiderFailed: As `Chats.post_message`.
        """
        if chat_id in over.told:
            return
        wait = in_words(over.until - self.clock.now())
        self.chats.post_message(
            NewMessage(
                tenant=tenant,
                chat_id=chat_id,
                sender=agent,
                kind="notice",
                text=render(f"notice_over_{over.what}", {"wait": wait}),
                client_id=notice_id(over),
            ),
            extra_writes=extra_writes,
        )
        self.limits.told(tenant, user_id, over, chat_id)

    def out_of_tokens(self, claim: Claim, refusal: Refusal) -> None:
        """Say in a direct chat, once, that a run is not worked at because of a limit.

        Nobody is told of a run that no person waits for: a plan's, or one by an agent's message.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        run, chat, payer = claim.run, claim.chat, payer_of(claim.run)
        if payer is None or not run.trigger.by_person or chat is None or chat.kind != "direct":
            return
        over = self.limits.go_over(run.tenant, payer, refusal)
        try:
            self.over_limit(
                over,
                tenant=run.tenant,
                chat_id=chat.id,
                agent=claim.agent,
                user_id=payer,
                extra_writes=claim.guarded,
            )
        except ExtraWriteFailed as error:
            raise LostLease(run.id) from error
        except (NotFound, Conflict):
            logger.info("nobody is there to be told", extra={"run_id": run.id})


def in_words(wait: timedelta) -> str:
    """A while as people say it: `a minute`, `12 minutes`, `an hour`, `5 hours`."""
    minutes = max(SINGULAR, ceil(wait.total_seconds() / MINUTE_SECONDS))
    if minutes < HOUR_MINUTES:
        return "a minute" if minutes == SINGULAR else f"{minutes} minutes"
    hours = ceil(minutes / HOUR_MINUTES)
    return "an hour" if hours == SINGULAR else f"{hours} hours"


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
            posted = self.chats.post_message(
                apology, extra_writes=lambda snapshot: self._once(claim, snapshot)
            )
        except _NobodyToTell:
            return
        except ExtraWriteFailed as error:
            raise LostLease(run.id) from error
        except (Rejected, Transient) as error:
            logger.warning("an apology was not said", extra={"run_id": run.id}, exc_info=error)
            return
        if posted.created:
            self.metrics.count("Apologies")

    def _once(self, claim: Claim, snapshot: ChatSnapshot) -> Sequence[Write]:
        """The run is still the worker's, and the agent says it for the first time.

        Raises:
            _NobodyToTell: There is nobody to tell, or it was said.
        """
        agent = snapshot.member(claim.agent)
        if agent is None or agent.late_since is not None:
            raise _NobodyToTell
        if not any(
            person.active and person.sms is not None and person.sms_opted_out_at is None
            for person in snapshot.members
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
