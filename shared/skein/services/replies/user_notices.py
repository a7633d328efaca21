"""Post notices that tell a waiting person why there is no answer.

- `Notices`: a limit is used up, or the person has opted out of SMS. A direct chat gets one notice
  each time a limit is used up, and one confirmation of an opt-out.
- `FailureNotices`: a run has failed. The person who asked gets one notice for the run; a group gets
  at most one per hour.
- `Apologies`: the model is down. A chat gets one apology per outage. An outage ends when the agent
  answers again. `late_since` on the agent's membership records that the apology was posted.
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
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.storage import Absent, Exists, Is, Update, Write, all_of
from skein.models.quotas.limit import ExceededLimit, notice_id
from skein.ports import Clock, Metrics
from skein.prompts import render
from skein.services.chat_state.closed_memberships import read_membership
from skein.services.chat_state.desk_stays import DeskRequest
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.desk_requests import DeskRequests
from skein.services.chats.post_message import Chats, ExtraWrites, NewMessage
from skein.services.config.resolution import effective_in
from skein.services.quotas.rate_limits import OverLimit, RateLimiter
from skein.services.quotas.token_budget import payer_of
from skein.services.runs.claim import Claim
from skein.services.runs.policy import DEFERRALS
from skein.services.runs.reasons import has_answered
from skein.settings import Settings

NOTICE_PAUSE = timedelta(hours=1)  # minimum time between two notices of failed runs in a group
MINUTE_SECONDS = 60
HOUR_MINUTES = 60
SINGULAR = 1
DEFERRALS_BEFORE_APOLOGY = 2  # about half a minute; shorter outages need no apology

logger = logging.getLogger(__name__)


class _NobodyToTell(SkeinError):
    """No person can get the notice, or a notice about the same failure has been posted already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """The service that posts notices about exceeded limits and opt-outs."""

    chats: Chats
    rate_limiter: RateLimiter
    clock: Clock

    def over_limit(
        self,
        over: ExceededLimit,
        *,
        tenant: str,
        chat_id: str,
        agent: MemberRef,
        user_id: str,
        extra_writes: ExtraWrites | None = None,
    ) -> None:
        """Post a notice that a limit is used up, with the time until the agent answers again.

        A direct chat gets one notice for each time the limit is exceeded.

        Args:
            over: The period over the limit, with the chats that already got a notice.
            agent: The agent that posts the notice; must be a member.
            extra_writes: See `Chats.post_message`.

        Raises:
            Rejected, ExtraWriteFailed: As in `Chats.post_message`.
        """
        if chat_id in over.notified:
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
        self.rate_limiter.record_notice(tenant, user_id, over, chat_id)

    def opted_out(
        self, *, tenant: str, chat_id: str, agent: MemberRef, user_id: str, channel: str
    ) -> None:
        """Confirm an opt-out once, with the last SMS that the person gets (idempotent).

        Args:
            agent: The agent that posts the notice; must be a member.
            channel: The channel that the person has opted out of.

        Raises:
            Rejected: As in `Chats.post_message`.
        """
        person = MemberRef(kind="user", id=user_id)
        there = read_membership(self.chats.table, tenant, chat_id, person)
        if there is None or channel not in there.opt_outs:
            return
        self.chats.post_message(
            NewMessage(
                tenant=tenant,
                chat_id=chat_id,
                sender=agent,
                kind="notice",
                text=render("notice_opted_out"),
                client_id=f"opted-out:{user_id}:{rfc3339(there.opt_outs[channel])}",
                confirms_opt_out=True,
            )
        )

    def out_of_tokens(self, claim: Claim, refusal: OverLimit) -> None:
        """Notify the person of a direct chat that a token limit delays a run.

        The chat gets one notice for each time the limit is exceeded. No notice is posted if no
        person waits for the run, for example if a plan or an agent's message triggered the run.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        run, chat, payer = claim.run, claim.chat, payer_of(claim.run)
        if payer is None or not run.trigger.by_person or chat is None or chat.kind != "direct":
            return
        over = self.rate_limiter.go_over(run.tenant, payer, refusal)
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
            logger.info(
                "notice skipped: the chat or its recipient is gone", extra={"run_id": run.id}
            )


def in_words(wait: timedelta) -> str:
    """Format a duration in words: `a minute`, `12 minutes`, `an hour`, `5 hours`.

    Durations are rounded up, to full minutes below an hour and to full hours from an hour on.
    """
    minutes = max(SINGULAR, ceil(wait.total_seconds() / MINUTE_SECONDS))
    if minutes < HOUR_MINUTES:
        return "a minute" if minutes == SINGULAR else f"{minutes} minutes"
    hours = ceil(minutes / HOUR_MINUTES)
    return "an hour" if hours == SINGULAR else f"{hours} hours"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureNotices:
    """The service that posts a notice about a failed run, and may put the chat on the desk.

    While runs keep failing, a group gets one notice per hour: `failed_since` on an agent's
    membership records the notice until that agent answers. If the chat does not accept the notice,
    the error is logged, and the run fails without a notice.
    """

    chats: Chats
    desk: DeskRequests
    clock: Clock

    def failed(
        self, claim: Claim, text: str = "notice_no_answer", *, words: str | None = None
    ) -> None:
        """Post a notice for a run that is about to end as failed (idempotent).

        A notice is posted only if a person triggered the run in a chat and the run has not answered
        in that chat. A person on SMS gets the notice by SMS. If the tenant's limit of consecutive
        failed answers is reached, the chat is put on the desk.

        Args:
            text: The name of the notice's prompt file.
            words: The notice itself, in place of a file.

        Raises:
            LostLease: Another worker has taken the run over.
            Transient: The table failed; the run has not ended.
        """
        run, chat = claim.run, claim.chat
        if chat is None or not run.trigger.by_person:
            return
        if has_answered(run):
            return
        self._tell(claim, words or render(text))
        self._ask_a_person(claim)

    def _tell(self, claim: Claim, text: str) -> None:
        run = claim.run
        notice = NewMessage(
            tenant=run.tenant,
            chat_id=str(run.chat_id),
            sender=claim.agent,
            kind="notice",
            text=text,
            client_id=f"failed:{run.id}",
            run_id=run.id,
        )
        try:
            self.chats.post_message(
                notice, extra_writes=lambda snapshot: self._once(claim, snapshot)
            )
        except _NobodyToTell:
            return
        except ExtraWriteFailed as error:
            raise LostLease(run.id) from error
        except Rejected as error:
            logger.warning("failed to post a notice", extra={"run_id": run.id}, exc_info=error)

    def _ask_a_person(self, claim: Claim) -> None:
        """Put the chat on the desk if too many answers have failed in a row, including this one."""
        run, member = claim.run, claim.member
        most = self.desk.settings_of(run.tenant).desk_failed_answers
        if run.chat_id is None or member is None or not most or member.failed_answers + 1 < most:
            return
        request = DeskRequest(reason_code="failed_answers", agent_id=run.agent_id)
        cause = f"failed:{run.id}"
        try:
            self.desk.ask(run.tenant, run.chat_id, request, cause=cause, guard=claim.guard)
        except Rejected as error:
            logger.warning("failed to ask for a person", extra={"run_id": run.id}, exc_info=error)

    def _once(self, claim: Claim, snapshot: ChatSnapshot) -> Sequence[Write]:
        """Return extra writes that check the run's claim and record the notice in a group.

        Raises:
            _NobodyToTell: An agent of the group has posted a notice less than an hour ago.
        """
        agent = snapshot.member(claim.agent)
        if snapshot.chat.kind == "direct" or agent is None:
            return (claim.guard,)
        now = self.clock.now()
        known = [one.failed_since for one in snapshot.agents if one.failed_since is not None]
        if known and now - max(known) < NOTICE_PAUSE:
            raise _NobodyToTell
        noticed = Update(agent.key, set={"failed_since": rfc3339(now)}, condition=Exists())
        return (claim.guard, noticed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Apologies:
    """The service that posts one apology per outage of the model.

    Args:
        chats: The service that posts the apology.
        settings: The settings that switch apologies on and contain their text.
    """

    chats: Chats
    clock: Clock
    metrics: Metrics
    settings: Settings

    def late(self, claim: Claim) -> None:
        """Post an apology for a run that is about to be deferred.

        The run is deferred because the model is down. An apology is posted only if a person
        triggered the run in a chat, the settings allow apologies, and the run was deferred at least
        `DEFERRALS_BEFORE_APOLOGY` times before. If the post is rejected or fails temporarily, the
        error is logged, and the next deferral tries again.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        run, chat, member = claim.run, claim.chat, claim.member
        by = run.trigger.by
        if chat is None or by is None or by.kind != "user":
            return
        if member is None or member.late_since is not None:
            return
        if run.deferrals < DEFERRALS_BEFORE_APOLOGY:
            return
        if not effective_in(chat, self.settings).apology:
            return
        apology = NewMessage(
            tenant=run.tenant,
            chat_id=chat.id,
            sender=claim.agent,
            text=self.settings.apology_text,
            client_id=f"late:{run.id}:{run.deferrals}",
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
            logger.warning("failed to post an apology", extra={"run_id": run.id}, exc_info=error)
            return
        if posted.created:
            self.metrics.count("Apologies")

    def _once(self, claim: Claim, snapshot: ChatSnapshot) -> Sequence[Write]:
        """Return extra writes that check the run's claim and record the apology.

        Raises:
            _NobodyToTell: The chat has no person who can get a notice, or an agent of the chat has
                already posted an apology.
        """
        agent = snapshot.member(claim.agent)
        if agent is None or agent.late_since is not None or self._posted_by_another(snapshot):
            raise _NobodyToTell
        if not any(_may_be_notified(member) for member in snapshot.members):
            raise _NobodyToTell
        recorded = Update(
            agent.key,
            set={"late_since": rfc3339(self.clock.now())},
            condition=all_of(
                Absent("late_since"), Absent("left_seq"), Is("chat_id", agent.chat_id)
            ),
        )
        return (claim.guard, recorded)

    def _posted_by_another(self, snapshot: ChatSnapshot) -> bool:
        recent = self.clock.now() - DEFERRALS.give_up
        return any(
            member.active and member.late_since is not None and member.late_since > recent
            for member in snapshot.members
        )


def _may_be_notified(member: Membership) -> bool:
    return member.active and member.member.kind == "user" and not member.opted_out
