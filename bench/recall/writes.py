"""`make bench ONLY=recall-writes DATA=folder`: what it costs to index a message for recall.

The files have the form that `bench/recall/evidence.py` describes. Each conversation is a direct
chat. Its messages are indexed all at once, in bursts, or one by one. All calls go through the
recall worker.
"""

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from skein.adapters.dynamodb.attributes import marshal_item
from skein.adapters.sqlite_table.items import item_size
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.models.chats.chat import Chat, ChatKind, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put, Write
from skein.models.outbox.jobs import RecallJob
from skein.settings import Settings
from tests.fakes.system import FixedClock, MemoryMetrics, MemoryQueues
from tests.fakes.table import MemoryTable
from tests.support.services import AllServices, build_services

TENANT, CHAT = "bench", "chat_bench"
AGENT = NamedMember(kind="agent", id="agt_bench", name="Agent")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
BURSTS = (1, 2, 4, 8, 64)
# us-east-1 on demand, 2025-06-01: https://aws.amazon.com/dynamodb/pricing/on-demand/
DOLLARS_PER_MILLION = 0.625
MOST_WRITES = 4.0  # per message, also if each is indexed by itself
KIB = 1_024
MINUTE = timedelta(minutes=1)
TIME_LIMIT = timedelta(hours=1)


class CountingTable(MemoryTable):
    """A table that counts written items and DynamoDB's write units.

    Attributes:
        written: The number of written items.
        units: The write units. Writes in a transaction count twice, as in DynamoDB.
        stored: The bytes of each stored item, by key.
    """

    def __init__(self, clock: FixedClock) -> None:
        super().__init__(clock)
        self.clear()
        self.stored: dict[tuple[str, str], int] = {}

    def clear(self) -> None:
        """Set the counters to zero."""
        self.written, self.units = 0, 0

    def transact(self, writes: Sequence[Write]) -> None:
        """Count, then carry out the writes."""
        super().transact(writes)
        for write in writes:
            before = self.stored.pop(write.key, 0)
            if isinstance(write, Put):
                self.stored[write.key] = item_size(marshal_item({**write.item, **_keys(write)}))
            size = max(before, self.stored.get(write.key, 0))
            self.written += 1
            self.units += 2 * max(1, math.ceil(size / KIB))


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of indexing some messages.

    Attributes:
        messages: The number of messages.
        writes: The written items.
        units: The write units.
        calls: The calls of the table, reads included.
        seconds: The CPU time.
        stored: The bytes of passages and postings afterwards.
    """

    messages: int
    writes: int
    units: int
    calls: int
    seconds: float
    stored: int


def indexed(
    turns: Sequence[dict[str, Any]],
    burst: int,
    embeddings: StaticEmbeddings,
    *,
    kind: ChatKind = "direct",
) -> Cost:
    """Index a private conversation in bursts of `burst` messages."""
    clock = FixedClock(BEGIN)
    table = CountingTable(clock)
    app = services(table, clock, embeddings)
    names = list(dict.fromkeys(str(turn["speaker"]) for turn in turns))
    people = [NamedMember(kind="user", id=f"usr_{name}", name=name) for name in names[:1]]
    others = [NamedMember(kind="agent", id=AGENT.id, name=name) for name in names[1:]]
    chat = Chat(
        tenant=TENANT,
        id=CHAT,
        kind=kind,
        visibility="private",
        roster=(*people, AGENT),
        last_seq=len(turns),
        activity_hour=BEGIN,
        created_at=BEGIN,
    )
    table.write(Put(chat.key, chat.to_item()))
    for member in chat.roster:
        membership = Membership(tenant=TENANT, chat_id=CHAT, member=member)
        table.write(Put(membership.key, membership.to_item(chat)))
    senders = {member.name: member for member in (*people, *others)}
    table.clear()
    table.log.clear()
    begun = time.process_time()
    for start in range(1, len(turns) + 1, burst):
        last = min(start + burst - 1, len(turns))
        for seq in range(start, last + 1):
            message = message_of(turns[seq - 1], seq, senders[str(turns[seq - 1]["speaker"])])
            table.write(Put(message.key, message.to_item()))
        job = RecallJob(tenant=TENANT, chat_id=CHAT, first_seq=start, last_seq=last)
        app.recall_worker.take(job, deadline=clock.now() + TIME_LIMIT)
    seconds = time.process_time() - begun
    calls = len(table.log) - len(turns)
    return Cost(len(turns), table.written, table.units, calls, seconds, sum(table.stored.values()))


def services(table: CountingTable, clock: FixedClock, embeddings: StaticEmbeddings) -> AllServices:
    """Build the services on a table in memory."""
    return build_services(
        Settings(),
        clock=clock,
        table=table,
        queues=MemoryQueues(clock),
        metrics=MemoryMetrics(),
        embeddings=embeddings,
        vocabulary=embeddings,
    )


def message_of(turn: dict[str, Any], seq: int, sender: NamedMember) -> Message:
    """Return a turn of a conversation as a message."""
    return Message(
        tenant=TENANT,
        chat_id=CHAT,
        id=f"msg_{seq}",
        seq=seq,
        text=" ".join(filter(None, (turn["text"], turn.get("image")))),
        sender=sender,
        client_id=f"c{seq}",
        created_at=BEGIN + seq * MINUTE,
    )


def _keys(write: Put) -> dict[str, str]:
    return {"pk": write.key.pk, "sk": write.key.sk}


def added(costs: Sequence[Cost]) -> Cost:
    """Return the sum of several costs."""
    return Cost(
        sum(cost.messages for cost in costs),
        sum(cost.writes for cost in costs),
        sum(cost.units for cost in costs),
        sum(cost.calls for cost in costs),
        sum(cost.seconds for cost in costs),
        sum(cost.stored for cost in costs),
    )


def main(folder: str) -> int:
    """Print what indexing costs for each message.

    Returns:
        1 if indexing messages one by one takes more than 4 writes for each, else 0.
    """
    embeddings = StaticEmbeddings()
    files = sorted(Path(folder).glob("*.json")) if folder else []
    conversations = [json.loads(file.read_text(encoding="utf-8"))["turns"] for file in files]
    if not conversations:
        print("bench: no conversation: set DATA to a folder of JSON files", file=sys.stderr)
        return 1
    print(
        f"{len(conversations)} conversations, {sum(map(len, conversations))} messages, one agent\n"
    )
    print("messages in a burst   writes   write units   $ per million   calls   ms of CPU   KiB")
    costs = {
        f"{burst}": added([indexed(turns, burst, embeddings) for turns in conversations])
        for burst in BURSTS
    }
    costs["1, in a group"] = added(
        [indexed(turns, 1, embeddings, kind="group") for turns in conversations]
    )
    for name, cost in costs.items():
        units = cost.units / cost.messages
        print(
            f"{name:>19}{cost.writes / cost.messages:>9.2f}{units:>14.1f}"
            f"{units * DOLLARS_PER_MILLION:>16.2f}"
            f"{cost.calls / cost.messages:>8.1f}{cost.seconds / cost.messages * 1_000:>12.1f}"
            f"{cost.stored / cost.messages / KIB:>6.1f}"
        )
    each = max(cost.writes / cost.messages for cost in costs.values())
    held = each <= MOST_WRITES
    print(
        f"\n{'pass' if held else 'FAIL'}  at most {MOST_WRITES:.0f} writes for a message that is"
        f" indexed by itself: {each:.2f}"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
