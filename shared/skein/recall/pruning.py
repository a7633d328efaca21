"""Pruning of blocks: take out messages that were erased or that have expired.

Pruning only removes lines, so it needs no embeddings. An erasure prunes each block of the person's
chats after it has erased the messages.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from skein.models.chats.chat import Message
from skein.models.common.storage import Item, Query
from skein.ports import Clock, Table
from skein.recall.block_commit import BlockChange, BlockCommits, with_lines
from skein.recall.models.block import BLOCK_MESSAGES, BlockLine
from skein.recall.models.stored import RecallBlock
from skein.services.common.optimistic import known_first, optimistic


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPruning:
    """Service that removes erased and expired messages from blocks."""

    table: Table
    clock: Clock
    commits: BlockCommits

    def prune(self, item: Item) -> int:
        """Remove the lines of messages that no longer exist from a block (idempotent).

        The messages are read after the block, so no older reading of them decides.

        Args:
            item: The block as read.

        Returns:
            The number of removed lines.
        """
        block = RecallBlock.from_item(item)
        read = known_first(block, partial(self._read, block))
        return optimistic(self.clock, partial(self._prune_once, read))

    def _prune_once(self, read: Callable[[], RecallBlock]) -> int:
        block = read()
        if not block.lines:
            return 0
        first, last = (
            Message.key_of(block.tenant, block.chat_id, seq)
            for seq in (block.number * BLOCK_MESSAGES, (block.number + 1) * BLOCK_MESSAGES - 1)
        )
        page = self.table.query(Query(first.pk, first=first.sk, last=last.sk))
        messages = {message.seq: message for message in map(Message.from_item, page.items)}
        left = [line for line in block.lines if _is_of(line, messages.get(line.seq))]
        removed = len(block.lines) - len(left)
        if removed:
            self.commits.commit([BlockChange(block, with_lines(block, left))])
        return removed

    def _read(self, block: RecallBlock) -> RecallBlock:
        """Read a block again; without lines if it is gone."""
        item = self.table.get(block.key)
        return RecallBlock.from_item(item) if item else block.model_copy(update={"lines": ()})


def _is_of(line: BlockLine, message: Message | None) -> bool:
    """Tell whether a line still belongs to the message with its number."""
    return (
        message is not None
        and message.conversational
        and line.characters == len(message.text)
        and line.created_at == int(message.created_at.timestamp())
    )
