"""Erasure register: the erasures that a restored table must go through again.

The register is a table of its own, so that a restore of the main table does not roll it back.
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
    """The register of erasures."""

    table: RegisterTable

    def record(self, erasure: Erasure, subject: Subject) -> None:
        """Add an erasure to the register (idempotent); an entry never changes."""
        entry = RegisteredErasure.of(erasure, subject)
        with suppress(ConditionFailed):  # recorded before
            self.table.write(Put(entry.key, entry.to_item(), Missing()))

    def entries(self) -> Iterator[RegisteredErasure]:
        """Yield all entries, oldest first within each shard."""
        for shard in range(REGISTER_SHARDS):
            items = items_under(self.table, RegisteredErasure.partition(shard), "")
            yield from RegisteredErasure.each_of(items)
