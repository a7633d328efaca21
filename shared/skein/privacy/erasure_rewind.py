"""Set back the watermarks of consolidation, so that agents process messages of a chat again."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from skein.errors import NotFound
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef
from skein.models.common.storage import (
    Absent,
    Is,
    Update,
    Write,
    all_of,
)
from skein.models.visibility.provenance import MadeFrom
from skein.ports import Clock, Table
from skein.privacy.erasure_sweep import Sweep
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.chats.consolidation_schedule import consolidation_due
from skein.services.common.optimistic import optimistic
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRewind:
    """Sets back the watermarks of agents whose memories an erasure deletes."""

    table: Table
    clock: Clock
    settings: Settings

    def before_erasing(
        self, sweep: Sweep, agent_id: str, going: Sequence[MadeFrom], *, first: bool
    ) -> None:
        """Set an agent's watermarks back, to just before the first source message of deleted items.

        Call this before the items are deleted. If a crash follows, the next attempt finds the same
        items and sets the same watermarks.

        Args:
            going: The sources of each item to delete.
            first: Whether, in the first sweep, the watermarks are also set back to just before the
                person's first message in each chat.
        """
        for erased in sweep.chats.values():
            spans = [made.span_in(erased.chat_id) for made in going]
            seqs = [span.first_seq for span in spans if span is not None]
            if first and erased.first_seq is not None and sweep.erasure.swept_at is None:
                seqs.append(erased.first_seq)
            if seqs and agent_id in erased.agents:
                seq = min(seqs) - 1
                attempt = partial(self._set_back_once, sweep, agent_id, erased.chat_id, seq)
                optimistic(self.clock, attempt)

    def _set_back_once(self, sweep: Sweep, agent_id: str, chat_id: str, seq: int) -> None:
        try:
            snapshot = read_snapshot(self.table, sweep.tenant, chat_id)
        except NotFound:
            return
        membership = snapshot.member(MemberRef(kind="agent", id=agent_id))
        if membership is None or max(membership.consolidated_seq, membership.own_words_seq) <= seq:
            return
        writes: list[Write] = [_watermark_at(membership, seq)]
        moved = membership.model_copy(
            update={
                "consolidated_seq": min(seq, membership.consolidated_seq),
                "own_words_seq": min(seq, membership.own_words_seq),
            }
        )
        others = tuple(moved if each is membership else each for each in snapshot.members)
        due = consolidation_due(
            snapshot._replace(members=others), now=self.clock.now(), settings=self.settings
        )
        if due is not None:
            change = due.change | {"version": snapshot.chat.version + 1}
            as_read = Is("version", snapshot.chat.version)
            writes += [Update(snapshot.chat.key, set=change, condition=as_read), due.write]
        self.table.transact(writes)


def _watermark_at(membership: Membership, seq: int) -> Update:
    change: dict[str, Any] = {"consolidation_failures": 0}
    if membership.consolidated_seq > seq:
        change |= {"consolidated_seq": seq, "consolidated_characters": 0}
    if membership.own_words_seq > seq:
        change["own_words_seq"] = seq or None
    as_read = all_of(Is("consolidated_seq", membership.consolidated_seq), Absent("left_seq"))
    return Update(membership.key, set=change, condition=as_read)
