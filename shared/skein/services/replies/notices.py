"""What a person is told, once, when nobody answers for a while."""

import logging
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from skein.errors import Conflict, LostLease, NotFound, RiderFailed
from skein.models.base import MemberRef
from skein.models.limit import Over, notice_id
from skein.ports import Clock
from skein.prompts import render
from skein.services.chats.post_message import Chats, NewMessage, Riders
from skein.services.quotas.rate_limits import Limits, Refusal
from skein.services.quotas.token_budget import payer_of
from skein.services.runs.claim import Claim

MINUTE_SECONDS = 60
HOUR_MINUTES = 60
SINGULAR = 1

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """Tells people why there is silence."""

    chats: Chats
    limits: Limits
    clock: Clock

    def over_limit(
        self,
        over: Over,
        *,
        tenant: str,
        chat_id: str,
        agent: MemberRef,
        user_id: str,
        riders: Riders | None = None,
    ) -> None:
        """Say in a direct chat, once for each time over a limit, that nobody answers, and how long.

        Args:
            over: Since when, and until when.
            tenant: Whose chat.
            chat_id: Which chat.
            agent: Who says it; must be in the chat.
            user_id: The person.
            riders: See `Chats.post_message`.

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
            riders=riders,
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
                riders=claim.guarded,
            )
        except RiderFailed as error:
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
