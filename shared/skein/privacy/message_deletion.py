"""Delete a message for its sender.

One transaction removes the words from the message, the chat and its summaries, and stores an
erasure. The erasure worker then removes the words from the runs of the chat
(`erasure_messages.py`). If the process dies after the commit, the tick starts the erasure later.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skein.errors import Forbidden, NotFound
from skein.models.chats.chat import Chat, Message
from skein.models.chats.consent import Consent
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import Is, Missing, Put, Update, Write
from skein.ports import Clock, Ids, Table
from skein.privacy.erasure_consents import wordless
from skein.privacy.erasure_requests import job_of
from skein.privacy.erasure_sweep import deleted
from skein.privacy.message_changes import chat_changed, summary_change
from skein.privacy.models.erasure import DeletedMessage, Erasure
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.common.optimistic import known_first, optimistic
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.rate_limits import RateLimiter
from skein.services.runs.slots import canceled_queued_run, log_canceled, slots_unchanged


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDeletion:
    """Service with which people delete their own messages."""

    table: Table
    clock: Clock
    ids: Ids
    dispatch: Dispatch
    rate_limiter: RateLimiter

    def delete(self, tenant: str, by: MemberRef, chat_id: str, seq: int) -> None:
        """Delete a person's own message (idempotent).

        The message keeps its `seq`, but its words are deleted. If a queued run would answer only
        this message, the run is canceled. If an agent proposed the message and the person approved
        it, its words are also deleted from the question, the consent and the posts in other chats.
        The message itself is deleted last, so that a repeated call continues after a crash.

        Args:
            by: The person.
            chat_id: The chat; it may be discarded.
            seq: The `seq` of the message.

        Raises:
            NotFound: The chat or the message does not exist, or the person is not a member.
            Forbidden: Another member sent the message.
            RateLimited: The person has made too many changes.
        """
        admit = self.rate_limiter.change_admission(tenant, by.id)
        snapshot = read_snapshot(self.table, tenant, chat_id).for_member(by)
        message = self._message(tenant, chat_id, seq)
        if message is None or message.kind == "erased":
            raise NotFound("message not found")
        if snapshot.chat.as_now(message).sender.ref != by:
            raise Forbidden("only the sender of a message can delete it")
        if message.kind == "deleted":
            return
        admit()
        for copy in self._copies(message):
            self._delete(copy, by)
        self._delete(message, by, known=(snapshot, message))

    def forget(self, tenant: str, user_id: str, chat_id: str, seq: int) -> None:
        """Delete a message that a person has asked to forget (idempotent).

        The message is the person's own, or an agent's message made from the person's words. Its
        erasure also deletes items that were made only from it.

        Args:
            user_id: The person.
            chat_id: The chat. If it no longer exists, nothing happens.
        """
        message = self._message(tenant, chat_id, seq)
        if message is None or message.kind in {"deleted", "erased"}:
            return
        by = MemberRef(kind="user", id=user_id)
        with suppress(NotFound):
            for each in (*self._copies(message), message):
                self._delete(each, by, forgotten=True)

    def _message(self, tenant: str, chat_id: str, seq: int) -> Message | None:
        return Message.read(self.table, Message.key_of(tenant, chat_id, seq))

    def _delete(
        self,
        message: Message,
        by: MemberRef,
        *,
        known: tuple[ChatSnapshot, Message | None] | None = None,
        forgotten: bool = False,
    ) -> None:
        erasure_id = f"era_{self.ids.ulid()}"
        of = (message.tenant, message.chat_id)
        reading = known_first(
            known,
            lambda: (read_snapshot(self.table, *of), self._message(*of, message.seq)),
        )
        erasure = optimistic(
            self.clock,
            lambda: self._delete_once(*reading(), by, erasure_id, forgotten=forgotten),
            finds_own_write=True,
        )
        if erasure is not None:
            self.dispatch.send([job_of(erasure)])

    def _delete_once(
        self,
        snapshot: ChatSnapshot,
        message: Message | None,
        by: MemberRef,
        erasure_id: str,
        *,
        forgotten: bool,
    ) -> Erasure | None:
        now = self.clock.now()
        if message is None or message.kind in {"deleted", "erased"}:
            return None
        erasure = Erasure(
            tenant=message.tenant,
            id=erasure_id,
            user_id=by.id,
            requested_by=by.id,
            requested_at=now,
            message=DeletedMessage(
                chat_id=message.chat_id,
                seq=message.seq,
                posted_at=message.created_at,
                run_id=message.run_id,
                forgotten=forgotten,
            ),
        )
        commit_deletion(self.table, snapshot, message, erasure, now)
        return erasure

    def _copies(self, message: Message) -> Iterator[Message]:
        """Yield the copies of a message that was posted with the person's consent.

        The copies are the question for the consent and the posts in other chats. The words are
        removed from the consent first, so that nothing more is posted. A message without a consent
        has no copies.
        """
        if message.via is None:
            return
        asked = self._message(message.tenant, message.via.chat_id, message.via.choice_seq)
        if asked is None:
            return
        key = Consent.key_of(message.tenant, message.sender.id, asked.id)
        consent = optimistic(
            self.clock, lambda: wordless(self.table, key, self.clock.now()), finds_own_write=True
        )
        yield asked
        for post in consent.posts if consent is not None else ():
            if post.seq is not None and (post.chat_id, post.seq) != (message.chat_id, message.seq):
                copy = self._message(message.tenant, post.chat_id, post.seq)
                if copy is not None:
                    yield copy


def commit_deletion(
    table: Table, snapshot: ChatSnapshot, message: Message, erasure: Erasure, now: datetime
) -> None:
    """Remove a message's words from the chat and its summaries, and store the erasure.

    Args:
        snapshot: The chat of the message.
        message: The message as stored, not deleted yet.
        erasure: The erasure of the message.
        now: The current time, at which the erasure is due.

    Raises:
        ConditionFailed: The chat or the message has changed.
    """
    chat, seq = snapshot.chat, message.seq
    unanswered = [each for each in snapshot.agents if _answers_only(each, chat, seq)]
    writes: list[Write] = [
        Update(message.key, set=deleted(message), condition=Is("kind", message.kind)),
        chat_changed(chat, seq, now),
        Put(erasure.key, erasure.to_item(now), Missing()),
        *_question_changed(table, message),
        *(write for each in snapshot.agents for write in _agent_changed(each, chat, seq, now)),
    ]
    table.transact(writes)
    for each in unanswered:
        if each.queued_run is not None:
            log_canceled(each.queued_run.run_id, Reason.MESSAGE_DELETED)


def _question_changed(table: Table, message: Message) -> Iterator[Write]:
    """If the message answered a question, yield the write that removes the option chosen there.

    The question stays answered.
    """
    if message.reply_to is None or message.sender.kind != "user":
        return
    question = Message.read(
        table, Message.key_of(message.tenant, message.chat_id, message.reply_to)
    )
    choice = question.choice if question is not None else None
    if question is None or choice is None or choice.answer is None:
        return
    if choice.answer.seq == message.seq and choice.answer.option is not None:
        answer = choice.answer.model_copy(update={"option": None})
        yield question.with_choice(choice.model_copy(update={"answer": answer}))


def _agent_changed(membership: Membership, chat: Chat, seq: int, now: datetime) -> Iterator[Write]:
    """Yield the writes that remove a message's words from an agent's membership.

    If the queued run would answer only this message, the run is canceled.
    """
    change: dict[str, Any] = dict(summary_change(membership, seq, now))
    queued = membership.queued_run
    if queued is not None and _answers_only(membership, chat, seq):
        change["queued_run"] = None
        error = "the person deleted the message"
        yield canceled_queued_run(membership, queued, Reason.MESSAGE_DELETED, error, now)
    if change:
        yield Update(membership.key, change, condition=slots_unchanged(membership))


def _answers_only(membership: Membership, chat: Chat, seq: int) -> bool:
    """Return whether an agent's queued run would answer only message `seq`."""
    queued = membership.queued_run
    if queued is None or queued.then or chat.last_seq != seq:
        return False
    trigger = queued.trigger
    return trigger.type == "chat_message" and trigger.from_seq == trigger.seq == seq
