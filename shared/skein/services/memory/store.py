"""Turns what is to be remembered into writes: no doubles, and the outdated gives way to the new."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.models.audience import may_change
from skein.models.consolidation import Kept
from skein.models.memory import JOURNAL_DAYS, LIVE, MadeBy, Memory, MemoryKind, touched
from skein.models.ownership import Owner, Reach, owned_partition
from skein.models.storage import Delete, Is, Item, Missing, Put, Write
from skein.ports import Ids, Table, TokenCounter
from skein.services.common.quoting import on_one_line
from skein.services.memory.duplicates import normalised

MOST_LIVE = 500  # of one partition in one reading: the constitutional, then the newest
MOST_KNOWN = 5_000  # of one partition where every one of them counts; the same come first
MOST_BESIDE = 500  # goals, plans and live runs that are read with them, hidden ones among them
GOALS, PLANS = "GOAL#", "PLAN#"


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


# ---------------------------------------------------------------------- reading


def live_items(table: Table, tenant: str, agent_id: str, scope: str | None) -> Sequence[Item]:
    """What stands as remembered in one partition, faded entries included: one query.

    The constitutional come first, then core memories, then journal entries, each the newest first.
    Where there are more core memories than one reading holds, a second one has the journal.
    """
    partition = owned_partition(tenant, agent_id, scope)
    return _with_journal(table, partition, last=f"{LIVE}~", limit=MOST_LIVE)


def owned_items(
    table: Table, tenant: str, agent_id: str, scope: str | None, *, memories: bool = True
) -> Sequence[Item]:
    """All that a prompt may show of one partition, in one query: plans, live runs, goals, memories.

    The revision is among them, and is read before the memories that it is of. See `live_items` for
    the order of the memories, which come last; or leave them out.
    """
    partition = owned_partition(tenant, agent_id, scope)
    if not memories:
        page = table.query(partition, first=GOALS, last=f"{PLANS}~", newest_first=True)
        return page.items
    return _with_journal(table, partition, last=f"{PLANS}~", limit=MOST_LIVE + MOST_BESIDE)


def _with_journal(table: Table, partition: str, *, last: str, limit: int) -> Sequence[Item]:
    page = table.query(partition, first=LIVE, last=last, limit=limit, newest_first=True)
    journal = Memory.live_prefix("journal")
    if page.next_start is None or page.items[-1]["sk"].startswith(journal):
        return page.items
    notes = table.query(
        partition, first=journal, last=f"{journal}~", limit=MOST_LIVE, newest_first=True
    )
    return (*page.items, *notes.items)


def live_memories(table: Table, reach: Reach, *, now: datetime) -> list[Memory]:
    """What an agent remembers now within reach, one query a partition; see `live_items`.

    Args:
        table: Where.
        reach: Whose, and where it is shown.
        now: What has faded by then is left out.
    """
    found = [
        Memory.from_item(item)
        for scope in reach.scopes
        for item in live_items(table, reach.tenant, reach.agent_id, scope)
    ]
    return [memory for memory in found if not memory.faded(now) and reach.shows(memory)]


def known_memories(table: Table, reach: Reach, *, now: datetime) -> list[Memory]:
    """The same as `live_memories`, but all of it, up to 5,000 of each partition.

    For searches and for doubles: what a prompt has no room for is known all the same. One query a
    partition for each 1 MB.
    """
    found: list[Memory] = []
    for scope in reach.scopes:
        partition = owned_partition(reach.tenant, reach.agent_id, scope)
        left, start, more = MOST_KNOWN, None, True
        while more and left > 0:
            page = table.query(
                partition,
                first=LIVE,
                last=f"{LIVE}~",
                limit=left,
                newest_first=True,
                start=start,
            )
            found += map(Memory.from_item, page.items)
            left -= len(page.items)
            start, more = page.next_start, page.next_start is not None
    return [memory for memory in found if not memory.faded(now) and reach.shows(memory)]


def line_of(memory: Memory) -> str:
    """How a memory stands in a prompt: on one line, whatever its text holds."""
    day = f"[{memory.created_at:%Y-%m-%d}] " if memory.kind == "journal" else ""
    return f"  - {day}{on_one_line(memory.text)}"


def within_budget(memories: Sequence[Memory], counter: TokenCounter, tokens: int) -> list[Memory]:
    """Those that are shown where there is no room for all, the oldest first.

    They are the constitutional, then the newest, as far as there is room.

    Args:
        memories: Of one kind.
        counter: Counts tokens.
        tokens: How many they may take together; constitutional ones may take more.
    """
    wanted = sorted(memories, key=lambda memory: (memory.constitutional, *memory.age))
    shown: list[Memory] = []
    for memory in reversed(wanted):
        tokens -= counter.count(f"{line_of(memory)}\n")
        if tokens < 0 and not memory.constitutional:
            break
        shown.append(memory)
    return sorted(shown, key=lambda memory: memory.age)


def core_in_budget(live: Sequence[Memory], counter: TokenCounter, tokens: int) -> list[Memory]:
    """The core memories among what an agent remembers, as far as it is shown them."""
    return within_budget([memory for memory in live if memory.kind == "core"], counter, tokens)


# ---------------------------------------------------------------------- writing


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
