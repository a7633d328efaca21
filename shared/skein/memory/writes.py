"""Build the writes that store new memories, skip duplicates and supersede outdated memories.

Two memories are duplicates if they have the same words. A fuzzier comparison would be wrong,
because "30 guests" and "31 guests" are very similar sentences but different facts.
"""

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.memory.models.memory import JOURNAL_DAYS, MadeBy, Memory, MemoryKind
from skein.memory.models.records import KeptCounts
from skein.models.common.storage import Missing, Put, Update, Write
from skein.models.visibility.ownership import Owner, Reach
from skein.models.visibility.provenance import Authors
from skein.ports import Ids
from skein.services.items.store import replaced

# Punctuation that carries meaning: C#, R&D, 10 %, @ann, 3*4, and/or, "does she?"
_MEANT = frozenset("#%&@*/\\?\u061f\u00a7\u2030")
_SYMBOLS = re.compile(r"[^\w\s]|_")  # all punctuation is among these
_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")


class MemoryDraft(NamedTuple):
    """The content of a memory to store.

    Attributes:
        kind: The kind of memory.
        text: The text of the memory.
        replaces: The id of the memory that the new memory supersedes.
    """

    kind: MemoryKind
    text: str
    replaces: str | None = None


class MemoryWrites(NamedTuple):
    """The writes that store new memories, and counts of the changes."""

    writes: tuple[Write, ...] = ()
    kept: KeptCounts = KeptCounts()


def made(
    owner: Owner,
    kind: MemoryKind,
    text: str,
    *,
    memory_id: str,
    made_by: MadeBy,
    now: datetime,
    learned_at: datetime | None = None,
    constitutional: bool = False,
    public: bool = False,
) -> Memory:
    """Build a new memory. A journal entry fades 7 days after `now`.

    Raises:
        ValidationError: The text is empty or too long.
    """
    return Memory(
        **{**dict(owner), "by_operator": made_by == "api" or constitutional},
        id=memory_id,
        kind=kind,
        text=text,
        made_by=made_by,
        learned_at=learned_at,
        constitutional=constitutional,
        public=public,
        fades_at=now + timedelta(days=JOURNAL_DAYS) if kind == "journal" else None,
        created_at=now,
    )


def superseded(old: Memory, by: Memory, now: datetime) -> list[Write]:
    """Return the writes that mark `old` as superseded by `by`; `old` stays on record."""
    after = old.ended("superseded", now)
    return replaced(old, after.model_copy(update={"superseded_by": by.id}))


def gives_way(old: Memory, new: Memory, reach: Reach) -> bool:
    """Return whether a caller with this reach may replace an old memory by a new memory.

    Both memories must have the same scope, and the caller needs the right to change the old memory
    (`Readers.changes`). A constitutional memory is never superseded.
    """
    return may_end(old, new.scope, reach)


def may_end(old: Memory, scope: str | None, reach: Reach) -> bool:
    """Return whether a caller that changes memories of `scope` may end a memory."""
    return not old.constitutional and old.scope == scope and reach.changes(old)


def stands_for(memory: Memory, home: str | None, authors: Authors) -> bool:
    """Return whether a live memory makes a new one with the same words unnecessary.

    A live memory from another chat does not do so if it has authors that the new memory lacks. The
    live memory could be hidden from runs that may see the new one, and it is deleted when one of
    those further authors is erased.

    Args:
        home: The chat of the new memory.
        authors: The authors of the new memory.
    """
    here = memory.home is not None and memory.home == home
    alike = memory.authors.empty or memory.authors.only(authors.ids)
    return here or alike or memory.trusted


def double_of(new: Memory, live: Sequence[Memory]) -> Memory | None:
    """Return a live memory with the same words that makes the new one unnecessary.

    See `stands_for`. The returned memory is a core memory or of the same kind as the new one. If
    the new memory is an operator's, the returned one is, too.
    """
    words = normalised(new.text)
    same = (
        one
        for one in live
        if one.kind in {"core", new.kind}
        and one.by_operator >= new.by_operator
        and stands_for(one, new.home, new.authors)
    )
    return next((memory for memory in same if normalised(memory.text) == words), None)


def remember(
    owner: Owner,
    entries: Sequence[MemoryDraft],
    live: Sequence[Memory],
    *,
    removed: Sequence[str] = (),
    reach: Reach,
    revision: Update,
    now: datetime,
    learned_at: datetime | None = None,
    ids: Ids,
) -> MemoryWrites:
    """Build the writes that store a consolidation's results as memories, for one transaction.

    An entry is not stored if an existing memory has the same words and makes the entry unnecessary
    (`stands_for`). If the entry was to replace a third memory, the existing memory supersedes that
    one instead. A core memory also supersedes a journal entry with the same words. A memory in
    `removed` is kept if an entry repeats its words.

    Args:
        owner: The agent, and the scope, audience and source of the memories.
        entries: The new content, 1 to 10,000 characters each.
        live: The agent's live memories that may be shown to the same audience.
        removed: The ids of memories to remove.
        reach: The reach of the consolidation, which decides what it may supersede or remove.
        revision: The write that raises the partition's revision. It is added if anything changes.
        learned_at: When the newest message was posted.
        ids: The generator of ids.

    Returns:
        The writes and the counts. If nothing changes, there are no writes.
    """
    known = {
        (memory.kind, normalised(memory.text)): memory
        for memory in reversed(live)
        if stands_for(memory, owner.source_chat_id, owner.authors)
    }
    by_id = {memory.id: memory for memory in live}
    new: list[Memory] = []
    ended: dict[str, Memory] = {}
    repeated: set[str] = set()
    doubles = 0
    for entry in sorted(entries, key=lambda entry: entry.kind):  # core first
        words = normalised(entry.text)
        same_core, same_journal = known.get(("core", words)), known.get(("journal", words))
        memory = same_core or (same_journal if entry.kind == "journal" else None)
        if memory is not None:
            doubles += 1
            repeated.add(memory.id)
        else:
            memory_id = f"mem_{ids.ulid()}"
            memory = made(
                owner,
                entry.kind,
                entry.text,
                memory_id=memory_id,
                made_by="consolidation",
                now=now,
                learned_at=learned_at,
            )
            known[entry.kind, words] = memory
            new.append(memory)
        for old in (by_id.get(entry.replaces or ""), same_journal):
            if old is None or old.id in ended or memory.id in {old.id, *ended}:
                continue
            if gives_way(old, memory, reach):
                ended[old.id] = memory
    writes: list[Write] = [Put(memory.key, memory.to_item(), Missing()) for memory in new]
    for old_id, by in ended.items():
        writes += superseded(by_id[old_id], by, now)
    gone = [
        by_id[each]
        for each in dict.fromkeys(removed)
        if each in by_id.keys() - ended.keys() - repeated
        and may_end(by_id[each], owner.scope, reach)
    ]
    for old in gone:
        writes += replaced(old, old.ended("removed", now))
    if writes:
        writes.append(revision)
    kept = KeptCounts(
        core=sum(memory.kind == "core" for memory in new),
        journal=sum(memory.kind == "journal" for memory in new),
        superseded=len(ended),
        removed=len(gone),
        doubles=doubles,
    )
    return MemoryWrites(tuple(writes), kept)


def normalised(text: str) -> str:
    """Reduce a text to its words, numbers and symbols, so that memories can be compared.

    Case, punctuation that only separates words, and the width of spaces are ignored. A text with
    only punctuation is kept unchanged.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    seen = folded.translate(_APOSTROPHES)
    if not seen.isascii():
        seen = _SYMBOLS.sub(lambda symbol: _visible(symbol[0]), seen)
    plain = _SYMBOLS.sub(_words_apart, seen)
    return " ".join(plain.split()) or " ".join(seen.split())


def _visible(symbol: str) -> str:
    return "" if unicodedata.category(symbol) == "Cf" else symbol


def _words_apart(symbol: re.Match[str]) -> str:
    """Return a space for a character that only separates words, and any other one unchanged."""
    text, at = symbol.string, symbol.start()
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    return " " if _only_separates(before, symbol[0], after) else symbol[0]


def _only_separates(before: str, character: str, after: str) -> bool:
    """Return whether a character only separates words; the signs in `-5`, `1.5` and `A-` don't."""
    category = unicodedata.category(character)
    if not category.startswith("P") or character in _MEANT or after.isdigit():
        return False
    if character == "'":
        return not (before.isalnum() and after.isalnum())
    if category == "Pd":
        return not before.isalnum() or after.isalnum()
    return True
