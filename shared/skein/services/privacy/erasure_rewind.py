"""Set back the watermarks of consolidation, so that agents process a chat again."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from skein.errors import NotFound
from skein.models.chats.chat import Membership
from skein.models.common.base import MemberRef
from skein.models.common.storage import (
    Absent,
    Is,
    Item,
    Update,
    Write,
    all_of,
)
from skein.models.privacy.erasure import ErasedChat
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.memory.consolidation_schedule import consolidation_due
from skein.services.privacy.erasure_sweep import Sweep
from skein.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRewind:
    """Rewind of the watermarks of agents whose memories an erasure deletes."""

    table: Table
    clock: Clock
    settings: Settings

    def before_erasing(
        self, sweep: Sweep, agent_id: str, going: list[Item], erased_chats: list[ErasedChat]
    ) -> None:
        """Set watermarks back before the first span of messages that `going` was made from.

        Call this before `going` is deleted: after a crash, the same items give the same watermarks.
        """
        for erased in erased_chats:
            self._set_back(sweep, agent_id, erased, going)

    def _set_back(self, sweep: Sweep, agent_id: str, erased: ErasedChat, going: list[Item]) -> None:
        """Set one chat's watermark back before the first span that is deleted.

        In the first sweep, the person's first message counts, too.
        """
        spans = [
            item["from_seq"]
            for item in going
            if item.get("source_chat_id") == erased.chat_id and item.get("from_seq") is not None
        ]
        if spans or (erased.first_seq is not None and sweep.erasure.swept_at is None):
            first = min([*spans, *([erased.first_seq] if erased.first_seq is not None else [])])
            attempt = partial(self._set_back_once, sweep, agent_id, erased.chat_id, first - 1)
            optimistic(self.clock, attempt)

    def _set_back_once(self, sweep: Sweep, agent_id: str, chat_id: str, seq: int) -> None:
        try:
            snapshot = read_snapshot(self.table, sweep.tenant, chat_id)
        except NotFound:
            return
        membership = snapshot.member(MemberRef(kind="agent", id=agent_id))
        if membership is None or membership.consolidated_seq <= seq:
            return
        writes: list[Write] = [_watermark_at(membership, seq)]
        moved = membership.model_copy(
            update={"consolidated_seq": seq, "consolidated_characters": 0}
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
    change: dict[str, Any] = {
        "consolidated_seq": seq,
        "consolidated_characters": 0,
        "consolidation_failures": 0,
    }
    as_read = all_of(Is("consolidated_seq", membership.consolidated_seq), Absent("left_seq"))
    return Update(membership.key, set=change, condition=as_read)
