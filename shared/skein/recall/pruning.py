"""Pruning of passages: remove erased and expired messages from the index.

Pruning only removes passages, so it needs no embeddings. After an erasure has erased a person's
messages, it prunes the index of each of the person's chats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from skein.models.chats.chat import Message
from skein.models.common.storage import HIGHEST_KEY, Item, Query
from skein.ports import Clock, Table
from skein.recall.models.stored import RecallPassage
from skein.recall.passage_commit import PassageChange, PassageCommits, Passages
from skein.services.common.optimistic import optimistic


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePruning:
    """Service that removes erased and expired messages from the index."""

    table: Table
    clock: Clock
    commits: PassageCommits

    def prune(self, item: Item) -> int:
        """Remove the passages of a message that no longer exists (idempotent).

        Args:
            item: The item of the message's first passage. Other passages are ignored.

        Returns:
            The number of removed passages.
        """
        passage = RecallPassage.from_item(item)
        if passage.part:
            return 0
        return self.prune_message(passage.tenant, passage.chat_id, passage.seq, [passage.agent_id])

    def prune_message(self, tenant: str, chat_id: str, seq: int, agent_ids: Sequence[str]) -> int:
        """Remove a message that no longer exists from the indexes of agents (idempotent).

        Returns:
            The number of removed passages.
        """
        attempts = (
            partial(self._prune_once, tenant, chat_id, seq, agent_id) for agent_id in agent_ids
        )
        return sum(optimistic(self.clock, attempt) for attempt in attempts)

    def _prune_once(self, tenant: str, chat_id: str, seq: int, agent_id: str) -> int:
        # The message is read after its passages, so that a stale reading never decides.
        passages = self._stored(tenant, chat_id, seq, agent_id)
        if not passages:
            return 0
        message = Message.read(self.table, Message.key_of(tenant, chat_id, seq))
        if _is_of(passages[0], message):
            return 0
        self.commits.commit([PassageChange(passages, ())])
        return len(passages)

    def _stored(self, tenant: str, chat_id: str, seq: int, agent_id: str) -> Passages:
        first = RecallPassage.key_of(tenant, chat_id, agent_id, seq)
        page = self.table.query(
            Query(first.pk, first=first.sk, last=f"{first.sk[:-2]}{HIGHEST_KEY}")
        )
        return tuple(RecallPassage.each_of(page.items))


def _is_of(passage: RecallPassage, message: Message | None) -> bool:
    """Return whether a passage still belongs to `message`, the message at its `seq`."""
    return (
        message is not None
        and message.conversational
        and passage.characters == len(message.full_text)
        and passage.created_at == int(message.created_at.timestamp())
    )
