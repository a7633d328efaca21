"""Ports behind circuit breakers: the same promises, but an outage is answered at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from skein.models.completion import ModelAnswer, ModelRequest
from skein.models.sms import OutgoingSms, SentSms
from skein.models.storage import IndexName, Item, Key, Page, Write
from skein.ports import LanguageModel, Sms, Table
from skein.services.common.circuit_breaker import Breaker


@dataclass(frozen=True, slots=True)
class GuardedModel:
    """A language model behind a breaker."""

    model: LanguageModel
    breaker: Breaker

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """See `skein.ports.LanguageModel`."""
        return self.breaker.call(lambda: self.model.complete(request))


@dataclass(frozen=True, slots=True)
class GuardedSms:
    """An SMS provider behind a breaker."""

    sms: Sms
    breaker: Breaker

    def send(self, sms: OutgoingSms) -> SentSms:
        """See `skein.ports.Sms`."""
        return self.breaker.call(lambda: self.sms.send(sms))

    def find(self, sms: OutgoingSms, *, since: datetime) -> tuple[SentSms, ...]:
        """See `skein.ports.Sms`."""
        return self.breaker.call(lambda: self.sms.find(sms, since=since))


@dataclass(frozen=True, slots=True)
class GuardedReads:
    """A table whose reads stand behind a breaker; its writes do not."""

    table: Table
    breaker: Breaker

    def get(self, key: Key) -> Item | None:
        """See `skein.ports.Table`."""
        return self.breaker.call(lambda: self.table.get(key))

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `skein.ports.Table`."""
        return self.breaker.call(lambda: self.table.get_many(keys))

    def query(
        self,
        pk: str,
        *,
        first: str = "",
        last: str = "\U0010ffff",
        limit: int | None = None,
        newest_first: bool = False,
        start: Item | None = None,
    ) -> Page:
        """See `skein.ports.Table`."""
        return self.breaker.call(
            lambda: self.table.query(
                pk, first=first, last=last, limit=limit, newest_first=newest_first, start=start
            )
        )

    def query_index(
        self,
        index: IndexName,
        pk: str,
        *,
        first: str = "",
        last: str = "\U0010ffff",
        limit: int,
        newest_first: bool = False,
        start: Item | None = None,
    ) -> Page:
        """See `skein.ports.Table`."""
        return self.breaker.call(
            lambda: self.table.query_index(
                index,
                pk,
                first=first,
                last=last,
                limit=limit,
                newest_first=newest_first,
                start=start,
            )
        )

    def write(self, write: Write) -> None:
        """See `skein.ports.Table`."""
        self.table.write(write)

    def transact(self, writes: Sequence[Write]) -> None:
        """See `skein.ports.Table`."""
        self.table.transact(writes)
