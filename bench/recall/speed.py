"""Speed of recall for a scope of 100,000 messages, on the local table.

`make bench ONLY=recall-speed` indexes generated messages by the product's own worker, and recalls
some by the product's own service. It prints the calls of the table, and CPU time beside elapsed
time: other work on the machine does not change CPU time.
"""

import gc
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from local.sqlite.database import Database
from local.sqlite.table import SqliteTable
from local.sqlite.vectors import SqliteVectors
from skein.adapters.static_embeddings import TOKENS, embeddings_folder
from skein.models.chats.chat import Message
from skein.models.common.base import NamedMember
from skein.models.common.ownership import owned_partition
from skein.models.common.storage import Put
from skein.models.common.vector_search import VectorSearch
from skein.models.outbox.jobs import RecallJob
from tests.support.builders import LONG_INVOCATION, NOON, TENANT, World, embeddings
from tests.support.recalling import recall_of, request_in

MESSAGES = 100_000
CHATS = 20
QUERIES = 200
BUDGETS = (1_000, 4_000)
SECONDS_BETWEEN = 60
WRITES = ("write", "transact")
AGENT = NamedMember(kind="agent", id="agt_a", name="Coach")
PEOPLE = tuple(
    NamedMember(kind="user", id=f"usr_{number}", name=name)
    for number, name in enumerate(("Ann", "Ben", "Cem", "Dana"))
)
PARTITION = owned_partition(TENANT, AGENT.id, None)


@dataclass(frozen=True, slots=True)
class Timing:
    """What some calls of one kind took, in milliseconds."""

    name: str
    elapsed: tuple[float, ...]
    cpu: tuple[float, ...]

    def line(self) -> str:
        """Return a line of the table."""
        return (
            f"{self.name:<34}{_at(self.elapsed, 0.5):9.1f}{_at(self.elapsed, 0.95):9.1f}"
            f"{_at(self.cpu, 0.5):9.1f}{_at(self.cpu, 0.95):9.1f}"
        )


def timed(name: str, calls: Sequence[Callable[[], object]]) -> Timing:
    """Measure calls one after the other."""
    elapsed, cpu = [], []
    for call in calls:
        wall, processor = time.perf_counter(), time.process_time()
        call()
        elapsed.append((time.perf_counter() - wall) * 1_000)
        cpu.append((time.process_time() - processor) * 1_000)
    return Timing(name, tuple(elapsed), tuple(cpu))


def _at(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def vocabulary() -> list[str]:
    """Return English words: those that are single tokens of the embeddings."""
    text = (embeddings_folder() / TOKENS).read_text(encoding="utf-8")
    words = {part[1:] for part in text.split('"') if part.startswith("\u2581")}
    return sorted(word for word in words if word.isascii() and word.isalpha() and word.islower())


class Texts:
    """Generator of messages and queries; common words are frequent, and some words are rare."""

    def __init__(self) -> None:
        self._chance = random.Random(17)
        self._words = vocabulary()
        self._chance.shuffle(self._words)
        self._weights = [1 / (rank + 20) for rank in range(len(self._words))]

    def text(self, words: int) -> str:
        """Return a text of about this many words."""
        count = max(3, round(self._chance.gauss(words, words / 3)))
        chosen = self._chance.choices(self._words, self._weights, k=count)
        if self._chance.random() < 1 / 4:
            chosen.append(f"{self._chance.choice(PEOPLE).name}{self._chance.randrange(5_000)}")
        return " ".join(chosen)


def indexed_world(messages: int, texts: Texts) -> tuple[World, float]:
    """Return a world with open chats that are indexed, and the CPU seconds of indexing."""
    world = World()
    world.agent()
    of_each = messages // CHATS
    for number in range(CHATS):
        chat = world.chat(AGENT, *PEOPLE, chat_id=f"chat_{number}", last_seq=of_each)
        written = [
            Message(
                tenant=TENANT,
                chat_id=chat.id,
                id=f"msg_{number}_{seq}",
                seq=seq,
                text=texts.text(12),
                sender=PEOPLE[seq % len(PEOPLE)],
                client_id=str(seq),
                created_at=NOON + timedelta(seconds=SECONDS_BETWEEN * seq),
            )
            for seq in range(1, of_each + 1)
        ]
        for start in range(0, of_each, 100):
            part = written[start : start + 100]
            world.table.transact([Put(message.key, message.to_item()) for message in part])
    world.table.log.clear()
    started = time.process_time()
    for number in range(CHATS):
        job = RecallJob(tenant=TENANT, chat_id=f"chat_{number}")
        world.app.recall_worker.take(job, deadline=world.clock.now() + LONG_INVOCATION)
    return world, time.process_time() - started


def on_file(world: World, folder: Path) -> Database:
    """Copy the table to a file, as the local stack has it."""
    database = Database(folder / "skein.db")
    database.create()
    with world.table._database.reading() as source, database.reading() as target:
        source.backup(target)
    return database


def main(messages: int = MESSAGES) -> int:
    """Index and search, and print a table."""
    texts = Texts()
    world, seconds = indexed_world(messages, texts)
    writes = sum(call.items for call in world.table.log if call.method in WRITES)
    print(f"{messages:,} messages of one scope, in {CHATS} chats")
    print(
        f"indexing: {seconds / messages * 1_000:.2f} ms of CPU and {writes / messages:.2f} writes"
    )
    print("          for each message, all at once")
    # A process that recalls does not hold the generated messages, which garbage collection would
    # look at.
    gc.collect()
    gc.freeze()
    queries = [texts.text(8) for _ in range(QUERIES)]
    searches = [
        VectorSearch(PARTITION, embeddings().name, embedding.vector)
        for embedding in embeddings().embed(queries)
    ]
    with tempfile.TemporaryDirectory() as folder:
        database = on_file(world, Path(folder))
        vectors = SqliteVectors(database, world.clock)
        print(f"{'milliseconds':<34}{'p50':>9}{'p95':>9}{'CPU p50':>9}{'CPU p95':>9}")
        first, *others = searches
        print(timed("first search of a process", [lambda: vectors.nearest(first)]).line())
        calls = [lambda search=search: vectors.nearest(search) for search in others]
        print(timed("vector search, 100 passages", calls).line())
        for tokens in BUDGETS:
            print(recalls(world, database, vectors, queries, tokens).line())
        database.close()
    requests = [request_in(world, query, "chat_0") for query in queries[:20]]
    recall = recall_of(world)
    world.table.log.clear()
    for request in requests:
        recall.find(request)
    each = Counter(call.method for call in world.table.log)
    names = ", ".join(f"{count / len(requests):.1f} {name}" for name, count in sorted(each.items()))
    print(f"calls of one recall: {names}")
    return 0


def recalls(
    world: World,
    database: Database,
    vectors: SqliteVectors,
    queries: Sequence[str],
    tokens: int,
) -> Timing:
    """Measure whole recalls: search, postings, ranking, reading and the check of each hit."""
    recall = recall_of(world, table=SqliteTable(database, world.clock), vectors=vectors)
    requests = [request_in(world, query, "chat_0", tokens=tokens) for query in queries]
    calls = [lambda request=request: recall.find(request) for request in requests]
    return timed(f"recall of {tokens:,} tokens", calls)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
