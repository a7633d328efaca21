"""Let operators request consolidations, and list records of consolidations and reflections."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from skein.errors import Conflict
from skein.memory.models.records import (
    CONSOLIDATED,
    REFLECTED,
    BackgroundRecord,
    ConsolidationRecord,
    ReflectionRecord,
)
from skein.models.chats.consolidation import Consolidation
from skein.models.common.base import Value, rfc3339
from skein.models.common.storage import Is, Item, Update
from skein.models.outbox.jobs import ConsolidationJob
from skein.models.visibility.ownership import Reach
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import read_chat, read_snapshot
from skein.services.chats.consolidation_schedule import wanted
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_partition
from skein.services.outbox.dispatch import Dispatch

Record = TypeVar("Record", bound=BackgroundRecord)


class RequestedConsolidation(Value):
    """A requested consolidation of a chat.

    Attributes:
        chat_id: The chat.
        to_seq: The last message that will be consolidated.
        agents: The number of agents with messages to consolidate.
    """

    chat_id: str
    to_seq: int
    agents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRequests:
    """Service with which operators request the consolidation of a chat."""

    table: Table
    clock: Clock
    dispatch: Dispatch

    def request(self, tenant: str, chat_id: str) -> RequestedConsolidation:
        """Request that a chat's messages are consolidated now.

        This also works for a chat that is busy, or that is not consolidated automatically.

        Raises:
            NotFound: The chat does not exist.
            Conflict: The chat is discarded.
        """
        requested = optimistic(self.clock, lambda: self._request_once(tenant, chat_id))
        if requested.agents:
            self.dispatch.send([ConsolidationJob(tenant=tenant, chat_id=chat_id)])
        return requested

    def _request_once(self, tenant: str, chat_id: str) -> RequestedConsolidation:
        snapshot = read_snapshot(self.table, tenant, chat_id)
        chat, now = snapshot.chat, self.clock.now()
        if chat.discarded_at is not None:
            raise Conflict("the chat is discarded")
        agents = sum(wanted(agent, chat.last_seq) for agent in snapshot.agents)
        if agents:
            consolidation = Consolidation.of(chat, requested_seq=chat.last_seq)
            change = {"consolidation_at": rfc3339(now), "version": chat.version + 1}
            self.table.transact(
                [
                    Update(chat.key, set=change, condition=Is("version", chat.version)),
                    Update(consolidation.key, set=consolidation.to_item(now)),
                ]
            )
        return RequestedConsolidation(chat_id=chat_id, to_seq=chat.last_seq, agents=agents)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundRecords:
    """Service that lists the records of background work on memories, which are kept for 90 days."""

    table: Table
    clock: Clock

    def of_chat(
        self, tenant: str, chat_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[ConsolidationRecord]:
        """List the consolidations of a chat, by page, newest first.

        Raises:
            NotFound: The chat does not exist.
            Invalid: The cursor does not belong to this list.
        """
        chat = read_chat(self.table, tenant, chat_id)
        return list_partition(
            self.table,
            chat.key.pk,
            [CONSOLIDATED],
            self._kept(ConsolidationRecord),
            limit=limit,
            cursor=cursor,
            newest_first=True,
        )

    def of_agent(
        self, reach: Reach, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[ReflectionRecord]:
        """List the reflections on an agent's memories of one scope, by page, oldest first.

        Args:
            reach: The agent and the scope; only the first scope is used.
            limit: The maximum size of the page.
            cursor: Where the previous page ended.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        read = self._kept(ReflectionRecord)
        return list_partition(
            self.table, reach.partition, [REFLECTED], read, limit=limit, cursor=cursor
        )

    def _kept(self, kind: type[Record]) -> Callable[[Item], Record | None]:
        """Return a function that parses a record; it returns None if the record has expired."""
        now = self.clock.now()

        def read(item: Item) -> Record | None:
            record = kind.from_item(item)
            return record if record.expires_at > now else None

        return read
