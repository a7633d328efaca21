"""Change agents' messages in other people's chats that may repeat the erased person's words.

The stage `chats` covers the person's own chats. Messages in other chats are found through the runs
that posted them.
"""

from dataclasses import dataclass
from functools import partial

from skein.errors import NotFound
from skein.models.chats.chat import PREVIEW_CHARACTERS, Message
from skein.models.common.storage import Exists, Is, Update, Write
from skein.models.delivery.delivery import Delivery
from skein.ports import Clock, Table
from skein.privacy.erasure_rules import may_hold_their_words, message_after, without_their_words
from skein.privacy.erasure_sweep import Sweep
from skein.privacy.message_changes import chat_changed, summaries_changed
from skein.recall.pruning import PassagePruning
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.common.optimistic import optimistic


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEraser:
    """Removes the person's words from single messages of agents in other people's chats."""

    table: Table
    clock: Clock
    passages: PassagePruning

    def rewrite(self, sweep: Sweep, chat_id: str, seq: int) -> None:
        """Apply the rules to a message, and to what was made from it (idempotent).

        The message, the chat's preview and the summaries change in one transaction. Afterwards, the
        words are removed from the message's stored SMS and recall passages. A repeated call does
        this even if the message itself is already changed.
        """
        try:
            attempt = partial(self._rewrite_once, sweep, chat_id, seq)
            changed = optimistic(self.clock, attempt, finds_own_write=True)
            message = self._message(sweep, chat_id, seq)
            if message.kind == "erased" or may_hold_their_words(sweep, message.authors):
                self.rewrite_deliveries(sweep, message)
                self._prune(sweep, message)
        except NotFound:  # the chat or the message no longer exists
            return
        sweep.unsaved.counts["messages"] += changed

    def _rewrite_once(self, sweep: Sweep, chat_id: str, seq: int) -> bool:
        message = self._message(sweep, chat_id, seq)
        change = message_after(sweep, None, message)
        if not change:
            return False
        as_read = Is("text", message.text)
        snapshot, now = read_snapshot(self.table, sweep.tenant, chat_id), self.clock.now()
        preview = str(change.get("text", message.text))[:PREVIEW_CHARACTERS]
        writes: list[Write] = [
            Update(message.key, set=change, condition=as_read),
            chat_changed(snapshot.chat, seq, now, preview=preview),
            *summaries_changed(snapshot.agents, seq, now),
        ]
        self.table.transact(writes)
        return True

    def _message(self, sweep: Sweep, chat_id: str, seq: int) -> Message:
        message = Message.read(self.table, Message.key_of(sweep.tenant, chat_id, seq))
        if message is None:
            raise NotFound("message not found")
        return message

    def rewrite_deliveries(self, sweep: Sweep, message: Message) -> None:
        """Remove the texts from the stored SMS of a changed message. Phones keep their copies."""
        of = (sweep.tenant, message.chat_id)
        keys = [Delivery.key_of(*of, each) for each in message.deliveries]
        for delivery in Delivery.each_of(self.table.get_many(keys).values() if keys else ()):
            sent = "".join(part.body for part in delivery.parts)
            gone = message.kind in {"erased", "deleted"}
            clean = not gone and without_their_words(sweep, sent) == sent
            if clean or not delivery.settled:
                continue
            bare = [
                part.model_copy(update={"body": "", "content": None}) for part in delivery.parts
            ]
            parts = delivery.model_copy(update={"parts": tuple(bare)}).attributes().get("parts")
            self.table.write(Update(delivery.key, set={"parts": parts}, condition=Exists()))

    def _prune(self, sweep: Sweep, message: Message) -> None:
        """Remove the recall passages of a changed message."""
        agents = read_snapshot(self.table, sweep.tenant, message.chat_id).agents
        sweep.unsaved.counts["recall_lines"] += self.passages.prune_message(
            sweep.tenant, message.chat_id, message.seq, [each.member.id for each in agents]
        )
