"""Make the writes for new memories: no duplicates, and what is outdated gives way.

Two memories are duplicates if they have the same words. Nothing fuzzier: "30 guests" and "31
guests" are as near to each other as any two sentences, and are two facts.
"""

import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.models.audience import may_change
from skein.models.consolidation import Kept
from skein.models.memory import JOURNAL_DAYS, MadeBy, Memory, MemoryKind, touched
from skein.models.ownership import Owner
from skein.models.storage import Delete, Is, Missing, Put, Write
from skein.ports import Ids

# Punctuation that says something: C#, R&D, 10 %, @ann, 3*4, and/or, "does she?"
_MEANT = frozenset("#%&@*/\\?\u061f\u00a7\u2030")
_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")


class Entry(NamedTuple):
    """Something to be remembered.

    Attributes:
        replaces: The core memory whose place it takes, by id.
    """

    kind: MemoryKind
    text: str
    replaces: str | None = None


class Remembered(NamedTuple):
    """What is to be written, and what that comes to."""

    writes: tuple[Write, ...] = ()
    kept: Kept = Kept()


def made(
    owner: Owner,
    kind: MemoryKind,
    text: str,
    *,
    memory_id: str,
    made_by: MadeBy,
    now: datetime,
    span: tuple[int, int] | None = None,
    constitutional: bool = False,
) -> Memory:
    """A new memory; a journal entry fades a week from now.

    Raises:
        ValidationError: The text does not fit.
    """
    return Memory(
        **dict(owner),
        id=memory_id,
        kind=kind,
        text=text,
        from_seq=span[0] if span else None,
        to_seq=span[1] if span else None,
        made_by=made_by,
        constitutional=constitutional,
        fades_at=now + timedelta(days=JOURNAL_DAYS) if kind == "journal" else None,
        created_at=now,
    )


def moved(before: Memory, after: Memory) -> list[Write]:
    """The writes that put `after` in place of `before`, as it was read, where it then belongs."""
    as_read = Is("version", before.version)
    if before.key == after.key:
        return [Put(after.key, after.to_item(), as_read)]
    return [Delete(before.key, as_read), Put(after.key, after.to_item(), Missing())]


def superseded(old: Memory, by: Memory) -> list[Write]:
    """The writes that let `old` give way to `by`; it stays on record."""
    return moved(old, old.model_copy(update={"superseded_by": by.id, "version": old.version + 1}))


def gives_way(old: Memory, new: Memory) -> bool:
    """Whether a new memory may take the place of an old one.

    It may if everybody who may be shown the old one may be shown the new one.
    """
    if old.constitutional or old.scope != new.scope:
        return False
    return may_change(new.audience, old.audience)


def double_of(kind: MemoryKind, text: str, live: Sequence[Memory]) -> Memory | None:
    """The memory that already says the same: a core one, or one of the same kind."""
    words = normalised(text)
    same = [memory for memory in live if memory.kind in {"core", kind}]
    return next((memory for memory in same if normalised(memory.text) == words), None)


def remember(
    owner: Owner,
    entries: Sequence[Entry],
    live: Sequence[Memory],
    *,
    span: tuple[int, int],
    now: datetime,
    ids: Ids,
    made_by: MadeBy = "consolidation",
) -> Remembered:
    """The writes that let an agent remember `entries`, all of them within one transaction.

    What it remembers already is not stored again, but takes the place of what it replaces; a core
    memory that it had in its journal takes that entry's place.

    Args:
        owner: On whose behalf, and before whom.
        entries: What is to be remembered, 1 to 10,000 characters each.
        live: What the agent remembers already, as far as the same people may be shown it.
        span: The first and the last message that it rests on.
        now: The present.
        ids: Gives the new ones their ids.
        made_by: Who remembers.
    """
    known = {(memory.kind, normalised(memory.text)): memory for memory in reversed(live)}
    by_id = {memory.id: memory for memory in live}
    new: list[Memory] = []
    ended: dict[str, Memory] = {}
    doubles = 0
    for entry in sorted(entries, key=lambda entry: entry.kind):  # core first
        words = normalised(entry.text)
        same_core, same_note = known.get(("core", words)), known.get(("journal", words))
        memory = same_core or (same_note if entry.kind == "journal" else None)
        if memory is not None:
            doubles += 1
        else:
            memory_id = f"mem_{ids.ulid()}"
            memory = made(
                owner,
                entry.kind,
                entry.text,
                memory_id=memory_id,
                made_by=made_by,
                now=now,
                span=span,
            )
            known[entry.kind, words] = memory
            new.append(memory)
        for old in (by_id.get(entry.replaces or ""), same_note):
            if old is None or old.id in ended or memory.id in {old.id, *ended}:
                continue
            if gives_way(old, memory):
                ended[old.id] = memory
    writes: list[Write] = [Put(memory.key, memory.to_item(), Missing()) for memory in new]
    for old_id, by in ended.items():
        writes += superseded(by_id[old_id], by)
    if writes:
        writes.append(touched(owner.tenant, owner.agent_id, owner.scope))
    kept = Kept(
        core=sum(memory.kind == "core" for memory in new),
        journal=sum(memory.kind == "journal" for memory in new),
        superseded=len(ended),
        doubles=doubles,
    )
    return Remembered(tuple(writes), kept)


def normalised(text: str) -> str:
    """The words, numbers and symbols of a text, without case, punctuation and width of spaces.

    A text of nothing but punctuation stays what it is.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    seen = [c for c in folded.translate(_APOSTROPHES) if unicodedata.category(c) != "Cf"]
    around = ["", *seen, ""]
    plain = "".join(
        " " if _is_looks(before, character, after) else character
        for before, character, after in zip(around, seen, around[2:], strict=False)
    )
    return " ".join(plain.split()) or " ".join("".join(seen).split())


def _is_looks(before: str, character: str, after: str) -> bool:
    """Whether a character only sets words apart, going by its neighbours: not in -5, 1.5, A-."""
    category = unicodedata.category(character)
    if not category.startswith("P") or character in _MEANT or after.isdigit():
        return False
    if character == "'":
        return not (before.isalnum() and after.isalnum())
    if category == "Pd":
        return not before.isalnum() or after.isalnum()
    return True
