"""Commit of blocks: a block and the postings of its lines change in one transaction.

So the lines of a stored block list all postings that refer to its messages. A line and its
references can be removed without the message's text.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from skein.models.common.storage import (
    MAX_TRANSACTION_ITEMS,
    Delete,
    Is,
    Key,
    Put,
    Write,
    gone,
)
from skein.ports import Clock, Table
from skein.recall.models.block import BlockLine, assembled
from skein.recall.models.stored import MAX_REFS, Posting, PostingRef, RecallBlock, newest_first
from skein.services.common.pagination import read_items


class PostingKey(NamedTuple):
    """A rare word of an agent in a scope, which has one posting."""

    tenant: str
    agent_id: str
    scope: str | None
    stem: str

    @property
    def key(self) -> Key:
        """The key of the item."""
        return Posting.key_of(*self)


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A block before and after a change; None if there is no block."""

    old: RecallBlock | None
    new: RecallBlock | None


@dataclass(slots=True)
class RefChange:
    """The references that are removed from a posting and added to it."""

    removed: set[PostingRef] = field(default_factory=set)
    added: set[PostingRef] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCommits:
    """The only writer of blocks and postings."""

    table: Table
    clock: Clock

    def commit(self, changes: Iterable[BlockChange]) -> int:
        """Commit changes of one agent's blocks in as few transactions as possible.

        Unchanged blocks cost nothing. A change that needs more writes than one transaction holds is
        committed line by line: old lines are removed first, then new ones are added.

        Returns:
            The number of written items.

        Raises:
            ConditionFailed: Another writer was faster; read the blocks and the messages again.
        """
        written = 0
        group: list[BlockChange] = []
        for part in (part for change in changes for part in _parts(change)):
            repeated = _key(part) in map(_key, group)
            if group and (repeated or _most_writes([*group, part]) > MAX_TRANSACTION_ITEMS):
                written += self._commit_once(group)
                group = []
            group.append(part)
        return written + self._commit_once(group)

    def _commit_once(self, changes: Sequence[BlockChange]) -> int:
        if not changes:
            return 0
        now, words = self.clock.now(), _ref_changes(changes)
        found = read_items(self.table, [word.key for word in words])
        writes = [_block_write(change, now) for change in changes]
        for word, change in words.items():
            old = Posting.from_item(found[word.key]) if word.key in found else None
            new = _posting_after(word, old, change, now)
            if new != old:
                writes.append(_posting_write(word.key, old, new, now))
        self.table.transact(writes)
        return len(writes)


def with_lines(block: RecallBlock, lines: Sequence[BlockLine]) -> RecallBlock | None:
    """Return a block with other lines and the values computed from them; None without lines."""
    if not lines:
        return None
    whole = assembled(block.chat_id, block.number, block.recall_model, lines)
    senders = {line.sender_id for line in lines}
    return block.model_copy(
        update={
            "vector": whole.vector,
            "lines": whole.lines,
            "first_at": min(line.created_at for line in lines),
            "last_at": max(line.created_at for line in lines),
            "names": {sender: name for sender, name in block.names.items() if sender in senders},
            "expires_at": _latest(line.expires_at for line in lines),
        }
    )


# ---------------------------------------------------------------------- blocks


def _parts(change: BlockChange) -> Iterator[BlockChange]:
    """Split a change so that each part fits in a transaction; nothing if nothing changes."""
    if _content(change.old) == _content(change.new):
        return
    if _most_writes([change]) <= MAX_TRANSACTION_ITEMS:
        yield change
        return
    current = change.old
    for after in [*_line_by_line(change), change.new]:
        if _content(current) != _content(after):
            yield BlockChange(current, after)
            current = after and after.model_copy(update={"version": _next_version(current)})


def _line_by_line(change: BlockChange) -> Iterator[RecallBlock | None]:
    """Yield the block after the removal of each old line, then after each added line."""
    staying = {seq for seq, _ in _refs(change.old) & _refs(change.new)}
    if change.old is not None:
        left = list(change.old.lines)
        for line in change.old.lines:
            if line.seq not in staying:
                left.remove(line)
                yield with_lines(change.old, left)
    if change.new is not None:
        for line in change.new.lines:
            if line.seq not in staying:
                staying.add(line.seq)
                have = [other for other in change.new.lines if other.seq in staying]
                yield with_lines(change.new, have)


def _content(block: RecallBlock | None) -> tuple[object, ...] | None:
    """Return the content of a block, without the factors computed from it."""
    if block is None:
        return None
    lines = tuple(replace(line, steps=b"", scale=0, near=0, wide=0) for line in block.lines)
    names = tuple(sorted(block.names.items()))
    return block.scope, block.recall_scope, block.recall_model, names, lines


def _key(change: BlockChange) -> Key:
    block = change.new or change.old
    if block is None:
        raise ValueError("a change needs a block before or after it")
    return block.key


def _next_version(block: RecallBlock | None) -> int:
    return 1 if block is None else block.version + 1


def _block_write(change: BlockChange, now: datetime) -> Write:
    condition = Is("version", change.old.version) if change.old else gone(now)
    if change.new is None:
        return Delete(_key(change), condition)
    stored = change.new.model_copy(update={"version": _next_version(change.old)})
    return Put(stored.key, stored.to_item(), condition)


def _most_writes(changes: Sequence[BlockChange]) -> int:
    return len(changes) + len(_ref_changes(changes))


# ---------------------------------------------------------------------- postings


def _refs(block: RecallBlock | None) -> set[tuple[int, tuple[tuple[PostingKey, PostingRef], ...]]]:
    """Return the references of each line, with the number of its message."""
    if block is None:
        return set()
    return {
        (
            line.seq,
            tuple(
                (
                    PostingKey(block.tenant, block.agent_id, block.scope, stem),
                    PostingRef(block.chat_id, line.seq, line.created_at, line.expires_at),
                )
                for stem in line.posted
            ),
        )
        for line in block.lines
    }


def _ref_changes(changes: Iterable[BlockChange]) -> dict[PostingKey, RefChange]:
    """Return the references that are removed from each posting and added to it."""
    words: dict[PostingKey, RefChange] = defaultdict(RefChange)
    for change in changes:
        before = {ref for _, refs in _refs(change.old) for ref in refs}
        after = {ref for _, refs in _refs(change.new) for ref in refs}
        for word, ref in before - after:
            words[word].removed.add(ref)
        for word, ref in after - before:
            words[word].added.add(ref)
    return words


def _posting_after(
    word: PostingKey, old: Posting | None, change: RefChange, now: datetime
) -> Posting | None:
    """Return a posting after a change; None if nothing is left to store.

    A common word has no references. If a message with the word is removed, the posting is emptied
    and collects later messages. Otherwise, the word would stay in the table even if all messages
    with it were erased.
    """
    kept = old
    if old is not None and old.common:
        if not change.removed:
            return old
        kept = None
    removed = {(ref.chat_id, ref.seq) for ref in change.removed}
    refs = {ref for ref in kept.refs if (ref.chat_id, ref.seq) not in removed} if kept else set()
    current = [ref for ref in refs | change.added if not _expired(ref, now)]
    if not current:
        return None
    common = len(current) > MAX_REFS and not _of_private_chat(word.scope)
    newest = newest_first(current)[:MAX_REFS]
    return Posting(
        tenant=word.tenant,
        agent_id=word.agent_id,
        scope=word.scope,
        stem=word.stem,
        refs=() if common else tuple(newest),
        common=common,
        version=old.version if old else 1,
        expires_at=_latest(ref.expires_at for ref in newest),
    )


def _posting_write(key: Key, old: Posting | None, new: Posting | None, now: datetime) -> Write:
    condition = Is("version", old.version) if old else gone(now)
    if new is None:
        return Delete(key, condition)
    version = old.version + 1 if old else 1
    return Put(key, new.model_copy(update={"version": version}).to_item(), condition)


def _of_private_chat(scope: str | None) -> bool:
    return scope is not None and scope.startswith("chat:")


def _expired(ref: PostingRef, now: datetime) -> bool:
    return ref.expires_at is not None and ref.expires_at <= now.timestamp()


def _latest(times: Iterable[int | None]) -> int | None:
    """Return the latest time; None if one of them is None, which means never."""
    every = list(times)
    finite = [time for time in every if time is not None]
    return max(finite) if finite and len(finite) == len(every) else None
