"""Chat erasure: messages, deliveries, runs and recall blocks of a person or a deleted message."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import TypeGuard, TypeVar

from skein.errors import ConditionFailed, NotFound
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Message, chat_partition, epoch_raised
from skein.models.chats.consent import Consent
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.chats.summary import PinnedSummary, Summary
from skein.models.common.storage import Delete, Exists, Is, Item, Put, Update, key_kind
from skein.models.delivery.delivery import Delivery
from skein.models.runs.run import Run
from skein.models.runs.step import Step
from skein.ports import Clock, Table
from skein.privacy.erasure_consents import wordless
from skein.privacy.erasure_memberships import FORGOTTEN
from skein.privacy.erasure_run_search import RunSearch
from skein.privacy.erasure_runs import RunEraser
from skein.privacy.erasure_sweep import Sweep, is_to_go, tombstone
from skein.privacy.models.erasure import DeletedMessage, ErasedChat
from skein.recall.models.block import BLOCK_MESSAGES
from skein.recall.models.stored import RecallBlock
from skein.recall.pruning import BlockPruning
from skein.services.chat_state.snapshot import ChatSnapshot, read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import items_under

PART = 100  # items between two saved positions in a chat
SUMMARY_WORK = timedelta(minutes=5)  # longer than a summary worker works

S = TypeVar("S", Summary, PinnedSummary)


class ChatEraser:
    """The stage `chats` of an erasure: content in the person's chats.

    The messages of a chat sort before its recall blocks. So each block is pruned after its messages
    were erased.
    """

    def __init__(self, *, table: Table, runs: RunEraser, blocks: BlockPruning) -> None:
        self._table = table
        self._runs = runs
        self._blocks = blocks
        self._kinds: dict[str, Callable[[Sweep, str, Item], None]] = {
            BorrowedContext.PREFIX.kind: self._borrowed,
            IdempotencyRecord.PREFIX.kind: self._idempotency_record,
            Delivery.PREFIX.kind: self._delivery,
            Message.PREFIX.kind: self._message,
            RecallBlock.PREFIX.kind: self._block,
            Run.PREFIX.kind: self._run,
        }

    def sweep(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Erase each chat item by item; yield positions: chat id and sort key."""
        chat_after, _, key_after = (after or "").partition(" ")
        for chat_id in sorted(sweep.chats):
            if chat_id < chat_after or (chat_id == chat_after and not key_after):
                continue
            behind = key_after if chat_id == chat_after else None
            pk = chat_partition(sweep.tenant, chat_id)
            for number, item in enumerate(items_under(self._table, pk, "", after=behind), 1):
                handle = self._kinds.get(key_kind(item["sk"]))
                if handle is not None:
                    handle(sweep, chat_id, item)
                if number % PART == 0:
                    yield f"{chat_id} {item['sk']}"
            with suppress(ConditionFailed):  # the chat no longer exists
                self._table.write(epoch_raised(sweep.tenant, chat_id))
            yield chat_id

    def _message(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        message = Message.from_item(item)
        if sweep.is_theirs(message.sender):
            self._remember_first(sweep, chat_id, message)
        suspect = sweep.suspect(message.created_at) or self._by_suspect(sweep, message)
        if is_to_go(sweep, sweep.chats[chat_id], message, suspect=suspect):
            self._table.write(Update(message.key, set=tombstone(message), condition=Exists()))
            sweep.unsaved.counts["messages"] += 1
            return
        if message.origin is not None and (
            message.origin.chat_id in sweep.chats
            or sweep.is_theirs(message.origin.asker)
            or sweep.names_them(message.origin.text, message.origin.chat_title)
        ):
            self._table.write(Update(message.key, set={"origin": None}, condition=Exists()))
            sweep.unsaved.counts["origins"] += 1
        if message.traced_to in sweep.subject.ids:
            self._table.write(Update(message.key, set={"traced_to": None}, condition=Exists()))

    def _remember_first(self, sweep: Sweep, chat_id: str, message: Message) -> None:
        """Note the person's first message in a chat before that message is erased.

        Later stages need the message's number and time: nothing derived from the person's words is
        older.
        """
        erased = sweep.chats[chat_id]
        if erased.first_seq is not None and erased.first_seq <= message.seq:
            return
        updated = erased.model_copy(
            update={
                "first_seq": message.seq,
                "present_seq": min(erased.present_seq or message.seq, message.seq),
                "since": min(erased.since, message.created_at),
            }
        )
        self._table.write(Put(updated.key, updated.to_item()))
        sweep.chats[chat_id] = updated

    def _by_suspect(self, sweep: Sweep, message: Message) -> bool:
        """Return whether the message's run may have seen erased content.

        True if the run no longer exists; False for a message without a run.
        """
        if message.run_id is None:
            return False
        item = self._table.get(Run.key_of(sweep.tenant, message.run_id))
        run = Run.from_item(item) if item else None
        return run is None or (run.started_at is not None and sweep.suspect(run.started_at))

    def _idempotency_record(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        del chat_id
        record = IdempotencyRecord.from_item(item)
        if sweep.is_theirs(record.sender):
            self._table.write(Delete(record.key))
            sweep.unsaved.counts["idempotency_records"] += 1

    def _delivery(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        del chat_id
        delivery = Delivery.from_item(item)
        if delivery.user_id in sweep.subject.ids or delivery.to.person in sweep.subject.addresses:
            self._table.write(Delete(delivery.key))
            sweep.unsaved.counts["deliveries"] += 1

    def _borrowed(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        staged = BorrowedContext.from_item(item)
        erased: ErasedChat = sweep.chats[chat_id]
        if erased.private and sweep.suspect(staged.created_at):
            try:
                self._table.write(Delete(staged.key, Is("staging", staged.staging)))
            except ConditionFailed:
                return
            sweep.unsaved.counts["borrowed"] += 1
        else:
            self._runs.unborrow(sweep, chat_id, staged.agent_id)

    def _block(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        del chat_id
        sweep.unsaved.counts["recall_lines"] += self._blocks.prune(item)

    def _run(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        if Step.is_stored_as(item):
            return  # steps are erased with their run
        run = Run.from_item(item)
        if (run.ended_at or sweep.now) >= sweep.chats[chat_id].since:
            self._runs.erase(sweep, run)


class DeletedMessageEraser:
    """The only stage of the erasure of a message that its sender has deleted.

    The deletion itself has removed the words from the message, the chat and the summaries
    (`message_deletion.py`). This stage removes them from the runs of the chat, and from recall.
    """

    def __init__(
        self,
        *,
        table: Table,
        clock: Clock,
        runs: RunEraser,
        search: RunSearch,
        blocks: BlockPruning,
    ) -> None:
        self._table = table
        self._clock = clock
        self._runs = runs
        self._search = search
        self._blocks = blocks

    def sweep(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Erase the words of runs that may have been shown the message; yield positions.

        Recall's entries of the message are removed first.
        """
        message = sweep.erasure.message
        if message is None:
            raise ValueError("the erasure is one of a person")
        try:
            snapshot = read_snapshot(self._table, sweep.tenant, message.chat_id, closed=True)
        except NotFound:
            return
        agents = sorted(
            {each.member.id for each in snapshot.members if each.member.kind == "agent"}
        )
        sweep.chats.setdefault(
            message.chat_id,
            ErasedChat(
                tenant=sweep.tenant,
                erasure_id=sweep.erasure.id,
                chat_id=message.chat_id,
                private=snapshot.chat.visibility == "private",
                agents=tuple(agents),
                since=message.posted_at,
            ),
        )
        self._forget(sweep, snapshot, message)
        self._forget_consent(sweep, message)
        number = message.seq // BLOCK_MESSAGES
        keys = [
            RecallBlock.key_of(sweep.tenant, message.chat_id, agent_id, number)
            for agent_id in agents
        ]
        for block in self._table.get_many(keys).values() if keys else ():
            sweep.unsaved.counts["recall_lines"] += self._blocks.prune(block)
        pk = chat_partition(sweep.tenant, message.chat_id)
        in_chat = items_under(self._table, pk, Run.PREFIX, after=after or None)
        for number, item in enumerate(in_chat, 1):
            if not Step.is_stored_as(item):
                self._run(sweep, message, Run.from_item(item))
            if number % PART == 0:
                yield str(item["sk"])
        for agent_id in agents:
            for run in self._search.of_background(sweep, agent_id):
                if run.for_chat_id == message.chat_id:
                    self._run(sweep, message, run)

    def _run(self, sweep: Sweep, message: DeletedMessage, run: Run) -> None:
        if run.id == message.run_id:
            self._runs.erase_steps(sweep, run)
            sent = [each.model_copy(update={"preview": ""}) for each in run.sent]
            bare = run.model_copy(update={"sent": tuple(sent)}).attributes()["sent"]
            self._table.write(Update(run.key, set={"sent": bare}, condition=Exists()))
            return
        shown, asked_at = run.shown, sweep.erasure.requested_at
        before = (run.ended_at or sweep.now) < message.posted_at
        later = run.started_at is not None and run.started_at > asked_at
        in_chat = shown is not None and shown.chat_id == message.chat_id
        unseen = in_chat and shown is not None and shown.seq < message.seq
        if not (before or later or unseen):
            self._runs.erase_steps(sweep, run)

    def _forget_consent(self, sweep: Sweep, message: DeletedMessage) -> None:
        """Remove the words from the consent whose question was deleted.

        The deletion itself has done so; after a restored backup, this does it again.
        """
        item = self._table.get(Message.key_of(sweep.tenant, message.chat_id, message.seq))
        if item is not None and message.run_id is not None:
            key = Consent.key_of(sweep.tenant, sweep.erasure.user_id, Message.from_item(item).id)
            optimistic(self._clock, lambda: wordless(self._table, key, sweep.now))

    def _forget(self, sweep: Sweep, snapshot: ChatSnapshot, message: DeletedMessage) -> None:
        """Delete agent summaries that the deletion did not reach.

        A worker may have read the message before the deletion and claimed the summary after it. The
        summaries of agents that have left show again if the agents return.
        """
        still_written = sweep.erasure.requested_at + SUMMARY_WORK
        for membership in snapshot.members:
            summary = membership.summary
            late = sweep.erasure.swept_at is not None or not membership.active
            if late and covers(summary, message.seq) and summary.at <= still_written:
                unchanged = Is("summary", membership.attributes().get("summary"))
                with suppress(ConditionFailed):  # it has just been renewed from the messages left
                    self._table.write(Update(membership.key, set=FORGOTTEN, condition=unchanged))
                    sweep.unsaved.counts["summaries"] += 1


def covers(summary: S | None, seq: int) -> TypeGuard[S]:
    """Tell whether a summary may hold the words of a message."""
    return summary is not None and summary.from_seq <= seq <= summary.seq
