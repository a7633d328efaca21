"""Post a message and start waiting for the reply, in one transaction."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from skein.errors import Conflict, LostLease
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason
from skein.models.common.storage import Query, Update, Write
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import PREVIEW_CHARACTERS, RunChanges, SentMessage
from skein.models.runs.trigger import Resume, Wait
from skein.models.visibility.audience import Audience
from skein.ports import Clock, Metrics, Table
from skein.services.chat_state.closed_memberships import read_membership
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch
from skein.services.runs.claim import Claim, stored_of, with_results
from skein.services.runs.completion import RunCompletion
from skein.services.runs.latency import record_answer
from skein.services.runs.policy import MAX_WAITS, WAIT_SECONDS
from skein.services.runs.slots import (
    RunMerge,
    merge_queued_run,
    next_run_job,
    release_slots,
    slots_unchanged,
)
from skein.services.runs.wakeups import can_be_answered
from skein.services.visibility.audience import audience_of
from skein.services.visibility.disclosure import check_post, check_readers
from skein.settings import Settings

UNANSWERABLE = (
    "nothing was sent: at chain depth {depth}, a message starts no other agent, so nobody would "
    "reply; send it without wait, or ask a person"
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """The outcome of a question.

    Attributes:
        claim: The claim after the transaction. If the run waits, this worker no longer has the
            claim.
        seq: The seq of the question.
        waiting: Whether the run waits; False if a reply that the agent has not seen already exists.
        joining: The merge of the chat's queued run into this run; None if the run does not resume
            at once.
    """

    claim: Claim
    seq: int
    waiting: bool
    joining: RunMerge | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The service that posts a run's question and makes the run wait for a reply."""

    table: Table
    clock: Clock
    chats: Chats
    completion: RunCompletion
    dispatch: Dispatch
    metrics: Metrics
    settings: Settings

    def ask(
        self,
        claim: Claim,
        new: NewMessage,
        *,
        audience: Audience,
        sent: Sequence[SentMessage],
        until: datetime | None = None,
    ) -> QuestionOutcome:
        """Post `new` and make the run wait for a reply, in one transaction.

        While the run waits, it does not take up a slot of its own chat. If a reply exists already,
        the run resumes at once, as a new activation. These messages of other members are replies:

        - In the chat that the run's prompt showed: any message after the prompt's last message. For
          the run of a plan or a service, messages that the agent has seen in the meantime do not
          count. While another run of the agent works in the chat, no message counts.
        - In another chat: any message that the agent has not seen, after this run's first message
          in that chat.

        Args:
            audience: The audience of the content that the message was made from.
            sent: Other messages that this step sent; they are recorded on the run, too.
            until: When the wait ends; None to wait for `WAIT_SECONDS`.

        Raises:
            Conflict: The run has waited `MAX_WAITS` times, another run waits in this chat, or the
                question is for agents that cannot be started at its chain depth.
            LostLease: The run waits already, so the claim is out of date.
            ExtraWriteFailed: Another worker has taken the run over.
            ReadersChanged: Someone has joined the chat that the prompt showed; nothing was posted.
            Rejected: As in `post_message`.
        """
        if claim.run.waits >= MAX_WAITS:
            raise Conflict(f"a run may wait at most {MAX_WAITS} times")
        self._check_readers(claim)
        self.completion.advance_seen(claim)
        asked = QuestionOutcome(claim, 0, waiting=True)
        jobs: list[RunJob] = []

        def extra_writes(snapshot: ChatSnapshot) -> Sequence[Write]:
            nonlocal asked
            check_post(claim.run, snapshot.chat)
            self._check_answerable(new, snapshot)
            jobs.clear()
            there = audience.narrowed(
                audience_of(snapshot.chat, since_seq=snapshot.chat.last_seq + 1)
            )
            question = SentMessage(
                chat_id=snapshot.chat.id,
                seq=snapshot.chat.last_seq + 1,
                preview=new.text[:PREVIEW_CHARACTERS],
                audience=there,
            )
            asked, writes, following = self._extra_writes(claim, snapshot, [*sent, question], until)
            jobs.extend(following)
            return writes

        posted = self.chats.post_message(new, extra_writes=extra_writes)
        if posted.message.seq != asked.seq:
            # An earlier attempt has committed the message, so the claim is out of date.
            raise LostLease(claim.run.id)
        self.dispatch.send(jobs)
        if asked.joining is not None:
            asked.joining.log()
        record_answer(self.metrics, claim.run, self.clock.now())
        if asked.waiting:
            logger.info(
                "run waits for a reply",
                extra={"run_id": claim.run.id, "reason": Reason.WAITING_FOR_REPLY},
            )
            if until is None:  # the tick ends longer waits
                self.dispatch.send([claim.job], delay_seconds=WAIT_SECONDS)
        return asked

    def _check_answerable(self, new: NewMessage, snapshot: ChatSnapshot) -> None:
        """Check that some member can answer the question.

        Raises:
            Conflict: The question is for agents, and no agent can be started at its chain depth.
        """
        answerable = can_be_answered(
            new.text,
            snapshot.chat,
            snapshot.agents,
            depth=new.depth,
            reply_to=new.reply_to,
            asker=new.sender,
            max_chain_depth=self.settings.max_chain_depth,
            now=self.clock.now(),
        )
        if not answerable:
            raise Conflict(UNANSWERABLE.format(depth=new.depth))

    def _check_readers(self, claim: Claim) -> None:
        """Check the readers of the chat that the prompt showed, if it is not the run's own chat.

        The run's own chat is not checked by this method. Another chat must be checked before the
        agent's SEEN watermark moves in that chat.

        Raises:
            ReadersChanged: Someone has joined the other chat since the prompt was built.
        """
        held = claim.run.held
        if held is None or held.chat_id in {None, claim.run.chat_id}:
            return
        chat = Chat.read(self.table, Chat.key_of(claim.run.tenant, str(held.chat_id)))
        if chat is not None:
            check_readers(held, chat)

    def _extra_writes(
        self,
        claim: Claim,
        snapshot: ChatSnapshot,
        sent: Sequence[SentMessage],
        until: datetime | None,
    ) -> tuple[QuestionOutcome, list[Write], list[RunJob]]:
        run = claim.run
        membership = snapshot.member(claim.agent)
        if membership is None:
            raise ValueError("the agent has just left the chat")
        if membership.wait is not None:
            if membership.wait.run_id == run.id:
                raise LostLease(run.id)
            raise Conflict("another of your runs already waits in this chat")
        reply = self._reply(claim, snapshot, membership, sent)
        recorded = with_results(claim, ["send_message"], sent).run
        changes: RunChanges = {
            "sent": recorded.sent,
            "tools": recorded.tools,
            "waits": run.waits + 1,
            "active_chat_id": snapshot.chat.id,
            "active_thread_id": run.active_thread_id,
        }
        seq = snapshot.chat.last_seq + 1
        if reply is None:
            return self._waiting(claim, membership, seq, changes, until)
        return self._answered(claim, membership, reply, seq, changes)

    def _reply(
        self,
        claim: Claim,
        snapshot: ChatSnapshot,
        membership: Membership,
        sent: Sequence[SentMessage],
    ) -> Message | None:
        """Find the first message of another member that this activation has not seen."""
        shown, chat = claim.run.shown, snapshot.chat
        *earlier, _ = [s.seq for s in (*claim.run.sent, *sent) if s.chat_id == chat.id]
        leaves_messages = claim.run.leaves_messages(chat.id)
        if leaves_messages and not membership.free:
            return None
        if shown is not None and shown.chat_id == chat.id:
            known = max(shown.seq, membership.seen_seq) if leaves_messages else shown.seq
        elif earlier:
            known = max(earlier[0], membership.seen_seq)
        else:
            return None
        if known >= chat.last_seq:
            return None
        page = self.table.query(
            Query(
                chat_partition(chat.tenant, chat.id),
                first=Message.key_of(chat.tenant, chat.id, known + 1).sk,
                last=Message.PREFIX.last,
            )
        )
        unknown = Message.each_of(page.items)
        return next((m for m in unknown if m.kind == "text" and m.sender.ref != claim.agent), None)

    def _waiting(
        self,
        claim: Claim,
        membership: Membership,
        seq: int,
        changes: RunChanges,
        until: datetime | None,
    ) -> tuple[QuestionOutcome, list[Write], list[RunJob]]:
        shortest = self.clock.now() + timedelta(seconds=WAIT_SECONDS)
        wait = Wait(run_id=claim.run.id, seq=seq, until=shortest)
        if until is not None and until > shortest:
            wait = Wait(run_id=claim.run.id, seq=seq, until=until, any_until=shortest)
        changes |= {
            "status": "waiting",
            "wait": wait,
            "wait_chat_id": membership.chat_id,
            "waited_in": tuple(dict.fromkeys((*claim.run.waited_in, membership.chat_id))),
            "lease_until": None,
            "attempts": 0,
            "held": claim.run.held.without_stamp if claim.run.held is not None else None,
            "sharing": None,
        }
        now_waiting = claim.with_run(**changes)
        asked = QuestionOutcome(now_waiting, seq, waiting=True)
        due = claim.run.due(wait.until + (OUTBOX_GRACE if until is None else timedelta()))
        here = {"wait": wait.model_dump(mode="json")}
        first = Update(
            claim.run.key, set=stored_of(now_waiting, *changes) | due, condition=claim.fence_holds
        )
        if claim.member is not None and claim.member.key == membership.key:
            left = release_slots(claim.run, membership)
            return (
                asked,
                [first, replace(left, set={**left.set, **here})],
                next_run_job(claim.run, membership),
            )
        writes: list[Write] = [
            first,
            Update(membership.key, here, condition=slots_unchanged(membership)),
        ]
        home = self._fresh(claim.member)
        if home is None:
            return asked, writes, []
        return asked, [*writes, release_slots(claim.run, home)], next_run_job(claim.run, home)

    def _answered(
        self,
        claim: Claim,
        membership: Membership,
        reply: Message,
        seq: int,
        changes: RunChanges,
    ) -> tuple[QuestionOutcome, list[Write], list[RunJob]]:
        """Resume the run at once, with a reply that exists already.

        The SEEN watermark moves as if the run had waited.
        """
        run, now = claim.run, self.clock.now()
        resume = Resume(status="reply", chat_id=membership.chat_id, asked_seq=seq, seq=reply.seq)
        changes |= {
            "resumed": resume,
            "activation": run.activation + 1,
            "chain_depth": reply.depth,
        }
        joining = merge_queued_run(claim.with_run(**changes).run, membership, now=now)
        changes |= joining.run_changes
        membership_changes = joining.membership_changes.copy()
        if run.shown is not None and run.shown.chat_id == membership.chat_id:
            membership_changes["seen_seq"] = max(membership.seen_seq, run.shown.seq)
        else:
            self.completion.advance_seen(claim, at_home=True)
        resumed = claim.with_run(**changes)
        if run.chat_id == membership.chat_id:
            resumed = replace(resumed, member=membership.model_copy(update=membership_changes))
        writes: list[Write] = [
            Update(run.key, set=stored_of(resumed, *changes), condition=claim.fence_holds),
            *joining.writes,
        ]
        if membership_changes:
            writes.append(
                Update(membership.key, membership_changes, condition=slots_unchanged(membership))
            )
        return QuestionOutcome(resumed, seq, waiting=False, joining=joining), writes, []

    def _fresh(self, home: Membership | None) -> Membership | None:
        if home is None:
            return None
        return read_membership(self.table, home.tenant, home.chat_id, home.member.ref)
