"""Commit passages: a message's passages and its words' postings change in one transaction.

So the first passage of a stored message lists all postings that refer to the message. This list
makes it possible to remove a message from the index after its text was erased.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
from skein.recall.models.stored import MAX_REFS, Posting, PostingRef, RecallPassage, newest_first
from skein.services.common.pagination import read_items

Passages = tuple[RecallPassage, ...]
NOT_COMPARED = {"version", "vector", "weight"}  # the embedding is derived from the text


class PostingKey(NamedTuple):
    """The key of a posting: an agent, a scope, and a rare word."""

    tenant: str
    agent_id: str
    scope: str | None
    stem: str

    @property
    def key(self) -> Key:
        return Posting.key_of(*self)


@dataclass(frozen=True, slots=True)
class PassageChange:
    """The passages of one message before and after a change.

    An empty tuple means that the message is not in the index.
    """

    old: Passages
    new: Passages


@dataclass(slots=True)
class RefChange:
    """The references that are removed from a posting and added to it."""

    removed: set[PostingRef] = field(default_factory=set)
    added: set[PostingRef] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageCommits:
    """The only writer of passages and postings."""

    table: Table
    clock: Clock

    def commit(self, changes: Iterable[PassageChange]) -> int:
        """Commit changes of one agent's passages in as few transactions as possible.

        Unchanged messages cost nothing.

        Returns:
            The number of written items.

        Raises:
            ConditionFailed: Another writer was faster; read the passages and the messages again.
        """
        written = 0
        group: list[PassageChange] = []
        for change in changes:
            if alike(change.old, change.new):
                continue
            if group and _most_writes([*group, change]) > MAX_TRANSACTION_ITEMS:
                written += self._commit_once(group)
                group = []
            group.append(change)
        return written + self._commit_once(group)

    def _commit_once(self, changes: Sequence[PassageChange]) -> int:
        if not changes:
            return 0
        now, words = self.clock.now(), ref_changes(changes)
        found = read_items(self.table, [word.key for word in words])
        writes = [write for change in changes for write in _passage_writes(change, now)]
        for word, change in words.items():
            old = Posting.read(found, word.key)
            new = posting_after(word, old, change, now)
            if new != old:
                writes.append(_posting_write(word.key, old, new, now))
        self.table.transact(writes)
        return len(writes)


def alike(one: Passages, other: Passages) -> bool:
    """Return whether two lists of passages are equal, ignoring their versions and vectors."""
    return [_content(passage) for passage in one] == [_content(passage) for passage in other]


# ---------------------------------------------------------------------- passages


def _content(passage: RecallPassage) -> dict[str, object]:
    return passage.model_dump(exclude=NOT_COMPARED)


def _passage_writes(change: PassageChange, now: datetime) -> list[Write]:
    """Return the writes that replace the passages of a message."""
    before = {passage.key: passage for passage in change.old}
    writes: list[Write] = []
    for passage in change.new:
        old = before.pop(passage.key, None)
        condition = Is("version", old.version) if old else gone(now)
        stored = passage.model_copy(update={"version": old.version + 1 if old else 1})
        writes.append(Put(stored.key, stored.to_item(), condition))
    return writes + [Delete(key, Is("version", old.version)) for key, old in before.items()]


def _most_writes(changes: Sequence[PassageChange]) -> int:
    passages = sum(max(len(change.old), len(change.new)) for change in changes)
    return passages + len(ref_changes(changes))


# ---------------------------------------------------------------------- postings


def _refs(passages: Passages) -> set[tuple[PostingKey, PostingRef]]:
    """Return the postings that the passages of a message list, each with its reference."""
    return {
        (
            PostingKey(passage.tenant, passage.agent_id, passage.scope, stem),
            PostingRef(passage.chat_id, passage.seq, passage.created_at, passage.expires_at),
        )
        for passage in passages
        for stem in passage.posted
    }


def ref_changes(changes: Iterable[PassageChange]) -> dict[PostingKey, RefChange]:
    """Return the references that are removed from each posting and added to it."""
    words: dict[PostingKey, RefChange] = defaultdict(RefChange)
    for change in changes:
        before, after = _refs(change.old), _refs(change.new)
        for word, ref in before - after:
            words[word].removed.add(ref)
        for word, ref in after - before:
            words[word].added.add(ref)
    return words


def posting_after(
    word: PostingKey, old: Posting | None, change: RefChange, now: datetime
) -> Posting | None:
    """Return a posting after a change; None if nothing is left to store.

    The posting of a common word has no references. When a message with the word is removed, the
    posting is no longer common, and begins a new list with later messages. Otherwise, the word
    would remain in the table even after all messages with the word were erased.
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
    """Return the latest time, or None if one of the times is None, which means never."""
    every = list(times)
    finite = [time for time in every if time is not None]
    return max(finite) if finite and len(finite) == len(every) else None
