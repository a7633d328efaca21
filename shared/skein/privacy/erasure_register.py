"""Erasure register: the erasures to repeat after the main table is restored from a backup.

The register is a separate table, so that restoring the main table does not roll it back.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from skein.errors import ConditionFailed
from skein.models.common.storage import Missing, Put
from skein.ports import RegisterTable
from skein.privacy.models.erasure import Erasure, Subject
from skein.privacy.models.registered_erasure import REGISTER_SHARDS, RegisteredErasure
from skein.services.common.pagination import items_under


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureRegister:
    """Access to the erasure register."""

    table: RegisterTable

    def record(self, erasure: Erasure, subject: Subject) -> None:
        """Add an erasure to the register (idempotent). Entries never change."""
        entry = RegisteredErasure.of(erasure, subject)
        with suppress(ConditionFailed):  # recorded before
            self.table.write(Put(entry.key, entry.to_item(), Missing()))

    def entries(self) -> Iterator[RegisteredErasure]:
        """Yield all entries; within each shard, the oldest entry comes first."""
        for shard in range(REGISTER_SHARDS):
            items = items_under(self.table, RegisteredErasure.partition(shard), "")
            yield from RegisteredErasure.each_of(items)
