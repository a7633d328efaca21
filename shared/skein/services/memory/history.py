"""Operators' view of consolidation and reflection: request a consolidation, list the records."""

from dataclasses import dataclass
from datetime import timedelta

from skein.errors import Conflict, Invalid
from skein.models.chats.consolidation import Consolidation
from skein.models.common.base import Value, rfc3339
from skein.models.common.ownership import Reach
from skein.models.common.storage import Is, Item, Query, Update
from skein.models.memory.consolidation import ConsolidationRecord
from skein.models.memory.reflection import HISTORY_DAYS, REFLECTED, ReflectionRecord
from skein.models.outbox.jobs import ConsolidationJob
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import read_chat, read_snapshot
from skein.services.common.optimistic import optimistic
from skein.services.common.pagination import (
    DEFAULT_PAGE,
    FOREIGN,
    Listing,
    RowCursor,
    list_partition,
)
from skein.services.memory.consolidation_schedule import wanted
from skein.services.outbox.dispatch import Dispatch


class RequestedConsolidation(Value):
    """Requested consolidation of a chat.

    Attributes:
        to_seq: The last message that will be consolidated.
        agents: The number of agents with messages to consolidate.
    """

    chat_id: str
    to_seq: int
    agents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationRequests:
    """Requests and records of the consolidation of chats."""

    table: Table
    clock: Clock
    dispatch: Dispatch

    def request(self, tenant: str, chat_id: str) -> RequestedConsolidation:
        """Request the consolidation of a chat's messages now.

        The request also holds for a chat that is busy, or that is not consolidated automatically.

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

    def history(
        self, tenant: str, chat_id: str, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[ConsolidationRecord]:
        """List a chat's consolidation records of the last 90 days, by page, newest first.

        Raises:
            NotFound: The chat does not exist.
            Invalid: The cursor does not belong to this list.
        """
        chat = read_chat(self.table, tenant, chat_id)
        first = ConsolidationRecord.key_of(tenant, chat_id, "").sk
        after = RowCursor.key_in(cursor, "consolidations")
        if after is not None and not after.startswith(first):
            raise Invalid(FOREIGN)  # the partition also holds messages, runs and more
        page = self.table.query(
            Query(
                chat.key.pk,
                first=first,
                last=after or f"{first}~",
                limit=limit + 2,
                newest_first=True,
            )
        )
        items = [item for item in page.items if item["sk"] != after]
        records = [ConsolidationRecord.from_item(item) for item in items[:limit]]
        now = self.clock.now()
        shown = tuple(record for record in records if record.expires_at > now)
        last = records[-1].key.sk if len(items) > limit else None
        following = RowCursor(of="consolidations", after=last) if last else None
        return Listing(shown, following.encode() if following else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionViews:
    """Records of the agents' reflections."""

    table: Table
    clock: Clock

    def list(
        self, reach: Reach, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[ReflectionRecord]:
        """List a partition's reflection records of the last 90 days, by page, oldest first.

        Args:
            reach: The agent and the partition; only the first scope is used.
            cursor: Where the previous page ended.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        since = self.clock.now() - timedelta(days=HISTORY_DAYS)

        def read(item: Item) -> ReflectionRecord | None:
            record = ReflectionRecord.from_item(item)
            return record if record.at > since else None

        return list_partition(
            self.table, reach.partition, [REFLECTED], read, limit=limit, cursor=cursor
        )
