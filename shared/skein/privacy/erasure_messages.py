"""Erase messages, deliveries, runs and recall in a chat, for a person or a deleted message."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from skein.errors import ConditionFailed, NotFound
from skein.media.deleting import MediaDeletion
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Message, chat_partition
from skein.models.chats.consent import Consent
from skein.models.chats.desk_stay import DeskStay
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.chats.media import MediaFile
from skein.models.common.storage import Delete, Exists, Is, Item, Put, Update, key_kind
from skein.models.delivery.delivery import Delivery
from skein.models.directory.profile_change import ProfileSource
from skein.models.runs.run import Run
from skein.models.runs.step import Step
from skein.models.visibility.provenance import MadeFrom, Span, digest_of
from skein.ports import Clock, Table
from skein.privacy.erasure_consents import wordless
from skein.privacy.erasure_material import holds, material_of_run
from skein.privacy.erasure_rules import message_after
from skein.privacy.erasure_run_search import RunSearch
from skein.privacy.erasure_runs import RunEraser
from skein.privacy.erasure_sweep import Sweep
from skein.privacy.erasure_words import quotes_in
from skein.privacy.message_changes import FORGOTTEN, SUMMARY_WORK, covers
from skein.privacy.message_deletion import MessageDeletion
from skein.privacy.models.erasure import DeletedMessage, ErasedChat, Quotes
from skein.recall.models.stored import RecallPassage
from skein.recall.pruning import PassagePruning
from skein.services.chat_state.snapshot import ChatSnapshot, read_chat, read_snapshot
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import items_under
from skein.services.directory.users import Users

PART = 100  # items after which the position in a chat is saved
MAX_HASHES = 10_000  # in one record of quotes; the last message may exceed this number


class ChatEraser:
    """The stage `chats` of an erasure: content in the person's chats.

    In the table, the messages of a chat sort before its recall passages. The messages are therefore
    erased first, and then the passages of erased messages are removed.
    """

    def __init__(
        self,
        *,
        table: Table,
        clock: Clock,
        runs: RunEraser,
        passages: PassagePruning,
        media: MediaDeletion,
    ) -> None:
        self._table = table
        self._clock = clock
        self._runs = runs
        self._passages = passages
        self._media_deletion = media
        self._kinds: dict[str, Callable[[Sweep, str, Item], None]] = {
            BorrowedContext.PREFIX.kind: self._borrowed,
            DeskStay.PREFIX.kind: self._stay,
            IdempotencyRecord.PREFIX.kind: self._idempotency_record,
            Delivery.PREFIX.kind: self._delivery,
            MediaFile.PREFIX.kind: self._media,
            Message.PREFIX.kind: self._message,
            RecallPassage.PREFIX.kind: self._passage,
            Run.PREFIX.kind: self._run,
        }

    def sweep(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Erase the items of each chat; yield positions, which are a chat id and a sort key."""
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
            with suppress(NotFound):
                optimistic(self._clock, partial(self._show_last, sweep, chat_id))
            yield chat_id

    def _show_last(self, sweep: Sweep, chat_id: str) -> None:
        """Raise the chat's epoch, and update its briefing and its preview of the newest message."""
        chat = read_chat(self._table, sweep.tenant, chat_id)
        change: dict[str, Any] = {"epoch": chat.epoch + 1}
        last = chat.last_message
        key = Message.key_of(sweep.tenant, chat_id, last.seq) if last else None
        message = Message.read(self._table, key) if key is not None else None
        if message is not None:
            change["last_message"] = message.preview()
        if chat.briefing is not None and chat.briefing.authors.may_include(sweep.digests):
            change["briefing"] = None
        _, write = revise(chat, change)
        self._table.write(write)

    def quotes(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Store hashes of everything that the person wrote, chat by chat.

        Later stages compare texts with these hashes to find quotes. Only the first sweep runs this
        stage, before any message is erased.
        """
        if sweep.erasure.swept_at is not None:
            return
        for chat_id in sorted(sweep.chats):
            if after is None or chat_id > after:
                for record in self._quotes_in(sweep, chat_id):
                    self._table.write(Put(record.key, record.to_item()))
                    sweep.quotes |= record.word_hashes
                yield chat_id

    def _quotes_in(self, sweep: Sweep, chat_id: str) -> Iterator[Quotes]:
        first_seq, hashes = 0, dict[int, None]()
        pk = chat_partition(sweep.tenant, chat_id)
        for message in Message.each_of(items_under(self._table, pk, Message.PREFIX)):
            if sweep.is_theirs(message.sender):
                first_seq = first_seq or message.seq
                hashes |= dict.fromkeys(quotes_in(message.text))
            if len(hashes) > MAX_HASHES:
                yield Quotes.of(sweep.erasure, chat_id, first_seq, hashes)
                first_seq, hashes = 0, {}
        if hashes:
            yield Quotes.of(sweep.erasure, chat_id, first_seq, hashes)

    def _message(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        message = Message.from_item(item)
        if sweep.is_theirs(message.sender):
            self._remember_first(sweep, chat_id, message)
        change = message_after(sweep, sweep.chats[chat_id], message)
        if change:
            self._table.write(Update(message.key, set=change, condition=Exists()))
            gone = change.get("kind") == "erased"
            sweep.unsaved.counts["messages" if gone else "messages_changed"] += 1

    def _remember_first(self, sweep: Sweep, chat_id: str, message: Message) -> None:
        """Note the number and time of the person's first message in a chat, before it is erased.

        Later stages use both: content older than this message cannot contain the person's words.
        """
        erased = sweep.chats[chat_id]
        if erased.first_seq is not None and erased.first_seq <= message.seq:
            return
        updated = erased.model_copy(
            update={
                "first_seq": message.seq,
                "since": min(erased.since, message.created_at),
            }
        )
        self._table.write(Put(updated.key, updated.to_item()))
        sweep.chats[chat_id] = updated

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

    def _media(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        """Delete a file that the person sent, or that may contain the person's words."""
        del chat_id
        file = MediaFile.from_item(item)
        if sweep.is_theirs(file.sender) or file.authors.may_include(sweep.digests):
            self._media_deletion.delete(file)
            sweep.unsaved.counts["files"] += 1

    def _borrowed(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        staged = BorrowedContext.from_item(item)
        self._runs.unborrow(sweep, chat_id, staged.agent_id)

    def _stay(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        """Remove the texts of a chat's stay on the desk if they may include the person's words."""
        del chat_id
        stay = DeskStay.from_item(item)
        if stay.has_words and stay.authors.may_include(sweep.digests):
            self._table.write(stay.without_words)
            sweep.unsaved.counts["desk_stays"] += 1

    def _passage(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        del chat_id
        sweep.unsaved.counts["recall_lines"] += self._passages.prune(item)

    def _run(self, sweep: Sweep, chat_id: str, item: Item) -> None:
        if Step.is_stored_as(item):
            return  # steps are erased with their run
        run = Run.from_item(item)
        if (run.ended_at or sweep.now) >= sweep.chats[chat_id].since:
            self._runs.erase(sweep, run)


class DeletedMessageEraser:
    """The stages `find` and `runs` of the erasure of a message that a person has deleted.

    The deletion itself (`message_deletion.py`) has already removed the words from the message, the
    chat and the summaries. This class removes them from runs, recall, files and other items.
    """

    def __init__(
        self,
        *,
        table: Table,
        clock: Clock,
        runs: RunEraser,
        search: RunSearch,
        passages: PassagePruning,
        deletion: MessageDeletion,
        users: Users,
        media: MediaDeletion,
    ) -> None:
        self._table = table
        self._clock = clock
        self._runs = runs
        self._search = search
        self._passages = passages
        self._deletion = deletion
        self._users = users
        self._media = media

    def sweep(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Erase the message's words from its chat; yield positions among the chat's runs.

        Recall entries and files of the message come first, then the runs that may have been shown
        the message.
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
        self._note_chat(sweep, snapshot, message, agents)
        self._forget(sweep, snapshot, message)
        self._forget_consent(sweep, message)
        self._forget_sms(sweep, message)
        sweep.unsaved.counts["files"] += self._media.delete_of_message(
            sweep.tenant, message.chat_id, message.seq
        )
        self._forget_stays(sweep, message)
        self._forget_profile(sweep, message)
        sweep.unsaved.counts["recall_lines"] += self._passages.prune_message(
            sweep.tenant, message.chat_id, message.seq, agents
        )
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

    def _note_chat(
        self,
        sweep: Sweep,
        snapshot: ChatSnapshot,
        message: DeletedMessage,
        agents: Sequence[str],
    ) -> None:
        """Store the note on the message's chat for other stages, unless it is already stored."""
        if message.chat_id in sweep.chats:
            return
        people = {each.member.id for each in snapshot.members if each.member.kind == "user"}
        erased = ErasedChat(
            tenant=sweep.tenant,
            erasure_id=sweep.erasure.id,
            chat_id=message.chat_id,
            private=snapshot.chat.visibility == "private",
            agents=tuple(agents),
            others=tuple(sorted(people)),
            since=message.posted_at,
        )
        self._table.write(Put(erased.key, erased.to_item()))
        sweep.chats[message.chat_id] = erased

    def elsewhere(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Erase a forgotten message's words from runs in other chats that may have seen it."""
        message = sweep.erasure.message
        if message is None or not message.forgotten:
            return
        person = (digest_of(sweep.erasure.user_id),)
        for position, runs in self._search.stretches(sweep):
            if after is not None and position <= after:
                continue
            for run in runs:
                before = (run.ended_at or sweep.now) < message.posted_at
                later = run.started_at is not None and not sweep.suspect(run.started_at)
                unheld = run.held is not None and not run.held.authors.may_include(person)
                if not (before or later or unheld):
                    self._forget_lines(sweep, message, run)
                    self._runs.erase_steps(sweep, run)
            yield position

    def _forget_lines(self, sweep: Sweep, message: DeletedMessage, run: Run) -> None:
        """Delete the messages that a run posted, if they were made from the forgotten message.

        A posted message is kept if another message that it was made from still exists.
        """
        made = material_of_run(run)
        if not (message.forgotten and holds(made, message) and sweep.gone(made)):
            return
        for chat_id, seq in self._runs.posted(sweep, run):
            self._deletion.forget(sweep.tenant, sweep.erasure.user_id, chat_id, seq)

    def _forget_sms(self, sweep: Sweep, message: DeletedMessage) -> None:
        """Remove the words from the stored SMS of the message."""
        stored = Message.read(
            self._table, Message.key_of(sweep.tenant, message.chat_id, message.seq)
        )
        if stored is not None:
            self._runs.rewriter.rewrite_deliveries(sweep, stored)

    def _forget_stays(self, sweep: Sweep, message: DeletedMessage) -> None:
        """Remove the words from stays on the desk that cover the time of the message."""
        pk = chat_partition(sweep.tenant, message.chat_id)
        for stay in DeskStay.each_of(items_under(self._table, pk, DeskStay.PREFIX)):
            if stay.has_words and stay.is_about(message.posted_at):
                self._table.write(stay.without_words)
                sweep.unsaved.counts["desk_stays"] += 1

    def _forget_profile(self, sweep: Sweep, message: DeletedMessage) -> None:
        """Remove values from the person's profile that were made only from deleted messages."""

        def gone(source: ProfileSource) -> bool:
            spans = (
                Span(chat_id=source.chat_id, first_seq=seq, last_seq=seq) for seq in source.seqs
            )
            made = MadeFrom(spans=tuple(spans))
            return holds(made, message) and sweep.gone(made)

        with suppress(NotFound):  # the person is being erased
            values = self._users.withdraw(sweep.tenant, sweep.erasure.user_id, gone)
            sweep.unsaved.counts["profile_values"] += values

    def _run(self, sweep: Sweep, message: DeletedMessage, run: Run) -> None:
        self._forget_lines(sweep, message, run)
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

        The deletion itself has already done this. Doing it again matters after a backup was
        restored.
        """
        stored = Message.read(
            self._table, Message.key_of(sweep.tenant, message.chat_id, message.seq)
        )
        if stored is not None and message.run_id is not None:
            key = Consent.key_of(sweep.tenant, sweep.erasure.user_id, stored.id)
            optimistic(self._clock, lambda: wordless(self._table, key, sweep.now))

    def _forget(self, sweep: Sweep, snapshot: ChatSnapshot, message: DeletedMessage) -> None:
        """Delete agents' summaries that the deletion itself missed.

        Such a summary can appear in two ways. A worker that had read the message before the
        deletion may have stored its summary afterwards. An agent that had left the chat shows its
        old summary again when it returns.
        """
        still_written = sweep.erasure.requested_at + SUMMARY_WORK
        for membership in snapshot.members:
            summary = membership.summary
            late = sweep.erasure.swept_at is not None or not membership.active
            if late and covers(summary, message.seq) and summary.at <= still_written:
                unchanged = Is("summary", membership.attributes().get("summary"))
                with suppress(ConditionFailed):  # it was just renewed from the remaining messages
                    self._table.write(Update(membership.key, set=FORGOTTEN, condition=unchanged))
                    sweep.unsaved.counts["summaries"] += 1
