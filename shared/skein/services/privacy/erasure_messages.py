"""Chat erasure: messages, deliveries, runs and recall blocks in the person's chats."""

from collections.abc import Callable, Iterator
from contextlib import suppress

from skein.errors import ConditionFailed
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Message, chat_partition, epoch_raised
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.common.storage import Delete, Exists, Is, Item, Put, Update, key_kind
from skein.models.delivery.delivery import Delivery
from skein.models.privacy.erasure import ErasedChat
from skein.models.recall.stored import RecallBlock
from skein.models.runs.run import Run
from skein.models.runs.step import Step
from skein.ports import Table
from skein.services.common.pagination import items_under
from skein.services.privacy.erasure_runs import RunEraser
from skein.services.privacy.erasure_sweep import Sweep, is_to_go, tombstone
from skein.services.recall.pruning import BlockPruning

PART = 100  # items between two saved positions in a chat


class ChatEraser:
    """The stage `chats` of an erasure: content in the person's chats.

    The messages of a chat sort before its recall blocks. So each block is read after its messages
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
            or sweep.mentions_them(message.origin.model_dump(mode="json"))
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
            sweep.unsaved.counts["dedupe_marks"] += 1

    def _delivery(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        del chat_id
        delivery = Delivery.from_item(item)
        if delivery.user_id in sweep.subject.ids or delivery.to.phone in sweep.subject.phones:
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
