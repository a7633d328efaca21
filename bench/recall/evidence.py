"""`make bench ONLY=recall DATA=folder`: how much of the evidence recall finds.

A file of the folder is a conversation: `turns` of `{id, session, at, speaker, text, image?,
agent?}` and `questions` of `{question, evidence: [turn ids], kind?, decisive?: [text of each]}`.
The measure is the share of a question's evidence that recall shows within a token budget
(o200k_base, with headings), as the mean of all questions. A message counts as shown if its decisive
text is shown. If it has no decisive text, 500 characters or half of the message must be shown.
Skein's own services index and find the messages, on a table in memory.
"""

import json
import math
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from statistics import mean, quantiles
from typing import Any
from zoneinfo import ZoneInfo

from bench.recall.bulk import Held, load
from local.sqlite.database import Database
from local.sqlite.table import SqliteTable
from local.sqlite.vectors import SqliteVectors
from local.template import ROOT
from skein.adapters.parallel import map_threads
from skein.adapters.sqlite_table.calls import Call
from skein.adapters.static_embeddings import StaticEmbeddings
from skein.adapters.system import SystemClock
from skein.adapters.tokens import Tokens
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put
from skein.models.outbox.jobs import RecallJob
from skein.models.visibility.audience import OPEN
from skein.recall.candidates import RecallRequest
from skein.recall.indexing import RecallIndexing
from skein.recall.passage_commit import PassageCommits
from skein.recall.passages import Passage, joined_parts, passages_of
from skein.recall.search import Recall, RecallResult
from skein.services.common.quoting import quoted
from skein.services.common.words import stems_of
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.usage import UsageCounters
from skein.settings import Settings
from tests.fakes.system import MemoryMetrics, MemoryQueues

BUDGETS = (500, 1_000, 2_000, 4_000)
REQUIRED, GOAL = {1_000: 0.78, 4_000: 0.88}, {1_000: 0.80, 4_000: 0.92}
LEAST_LINE = 12  # tokens; less room holds no further message
AGENTS = {"agent", "assistant", "ai"}  # names of speakers that are the agent
SHOWN_CHARACTERS = 500  # of a message, or half of it
K1, B = 1.2, 0.75  # of BM25
TENANT, AGENT = "bench", NamedMember(kind="agent", id="agt_bench", name="Agent")
BEGIN = datetime(2023, 1, 1, tzinfo=UTC)
AT = "%I:%M %p on %d %B, %Y"
HOURS_OF_INDEXING = 10
PEERS_PYTHON = ROOT / ".cache" / "bench" / "bin" / "python"
STORE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the positions of the turns that answer it.

    Attributes:
        decisive: For each turn, the part of its text that must be shown; empty if the file names
            none.
        kind: The kind of question.
    """

    text: str
    evidence: tuple[int, ...]
    decisive: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation.

    Attributes:
        chat_id: The chat in which the conversation is stored.
        texts: The text of each turn, with the descriptions of images.
        speakers: The speaker of each turn.
        times: The time of each turn.
        sessions: The session of each turn.
        questions: The questions. A question without evidence has a kind.
        agents: The names of speakers that stand for the agent.
    """

    chat_id: str
    texts: tuple[str, ...]
    speakers: tuple[str, ...]
    times: tuple[datetime, ...]
    sessions: tuple[int, ...]
    questions: tuple[Question, ...]
    agents: frozenset[str] = frozenset()


def conversation(name: str, data: dict[str, Any]) -> Conversation:
    """Read a conversation from the data of a file."""
    turns = data["turns"]
    positions = {turn["id"]: position for position, turn in enumerate(turns)}
    questions = (
        Question(
            asked["question"],
            tuple(positions[turn] for turn in asked["evidence"] if turn in positions),
            tuple(asked.get("decisive", ())),
            asked.get("kind", ""),
        )
        for asked in data["questions"]
    )
    return Conversation(
        f"chat_{name}",
        tuple(" ".join(filter(None, (turn["text"], turn.get("image")))) for turn in turns),
        tuple(turn["speaker"] for turn in turns),
        tuple(_time_of(turn, position) for position, turn in enumerate(turns)),
        tuple(turn["session"] for turn in turns),
        tuple(question for question in questions if question.evidence or question.kind),
        frozenset(turn["speaker"] for turn in turns if _is_of_agent(turn)),
    )


def _is_of_agent(turn: dict[str, Any]) -> bool:
    return bool(turn.get("agent", turn["speaker"].casefold() in AGENTS))


def _time_of(turn: dict[str, Any], position: int) -> datetime:
    """Return the time of a turn. Turns of one session follow each other within seconds."""
    try:
        at = datetime.strptime(turn["at"], AT).replace(tzinfo=UTC)
    except (KeyError, ValueError):
        at = BEGIN + timedelta(days=turn["session"])
    return at + timedelta(seconds=position)


class Stand:
    """A table in memory, with an agent that was a member of all chats.

    Attributes:
        recall_seconds: How long each recall took.
        cpu_seconds: The CPU time of each recall.
        calls: The calls of the table and of the vector index so far.
    """

    def __init__(self, embeddings: StaticEmbeddings, tokens: Tokens) -> None:
        self.recall_seconds: list[float] = []
        self.cpu_seconds: list[float] = []
        self._chats: dict[str, Chat] = {}
        self.calls: list[Call] = []
        self.database, clock = Database(), SystemClock()
        self.table = SqliteTable(self.database, clock, called=self.calls.append)
        self.vectors = SqliteVectors(self.database, clock, called=self.calls.append)
        self.indexing = RecallIndexing(
            table=self.table,
            clock=clock,
            embeddings=embeddings,
            vocabulary=embeddings,
            dispatch=Dispatch(queues=MemoryQueues(clock), metrics=MemoryMetrics()),
            commits=PassageCommits(table=self.table, clock=clock),
            usage=UsageCounters(table=self.table, clock=clock, metrics=MemoryMetrics()),
            settings=Settings(),
        )
        self.recall = Recall(
            table=self.table,
            vectors=self.vectors,
            embeddings=embeddings,
            vocabulary=embeddings,
            tokens=tokens,
            parallel_map=map_threads,
        )

    def hold(self, known: Conversation) -> None:
        """Store a conversation as an open chat, and index it as the worker does."""
        chat, messages = self._stored(known)
        member = Membership(tenant=TENANT, chat_id=chat.id, member=AGENT)
        self.table.write(Put(chat.key, chat.to_item()))
        self.table.write(Put(member.key, member.to_item(chat)))
        for message in messages:
            self.table.write(Put(message.key, message.to_item()))
        job = RecallJob(tenant=TENANT, chat_id=chat.id, first_seq=1, last_seq=chat.last_seq)
        deadline = datetime.now(UTC) + timedelta(hours=HOURS_OF_INDEXING)
        self.indexing.index(job, deadline=deadline)

    def load(self, conversations: Sequence[Conversation]) -> None:
        """Store and index all conversations of this stand as `hold` does, but faster."""
        load(
            self.database,
            self.indexing,
            AGENT,
            map(self._stored, conversations),
            SystemClock().now(),
        )

    def _stored(self, known: Conversation) -> Held:
        """Return a conversation as an open chat with its messages."""
        # One id for each name, since the same person may speak in several conversations.
        names = sorted({*known.speakers} - known.agents)
        people = {
            name: NamedMember(kind="user", id=f"usr_{name.casefold()}", name=name) for name in names
        }
        chat = Chat(
            tenant=TENANT,
            id=known.chat_id,
            kind="group",
            visibility="open",
            roster=(*people.values(), AGENT),
            last_seq=len(known.texts),
            activity_hour=known.times[0],
            created_at=known.times[0],
        )
        said = zip(known.texts, known.speakers, known.times, strict=True)
        messages = [
            Message(
                tenant=TENANT,
                chat_id=chat.id,
                id=f"msg_{seq}",
                seq=seq,
                text=text,
                sender=AGENT if name in known.agents else people[name],
                client_id=str(seq),
                created_at=at,
            )
            for seq, (text, name, at) in enumerate(said, 1)
        ]
        self._chats[chat.id] = chat
        return chat, messages

    def recalled(self, known: Conversation, question: str, budget: int) -> dict[int, str]:
        """Return the texts that recall shows for a question, by the position of their turn."""
        return {
            entry.message.seq - 1: entry.text
            for entry in self.find(known, question, budget).entries
            if entry.chat.id == known.chat_id
        }

    def find(
        self, known: Conversation, question: str, budget: int, *, thorough: bool = False
    ) -> RecallResult:
        """Recall messages of all conversations, for a question that is asked in one of them.

        Args:
            thorough: Whether to search like the tool, not like a prompt.
        """
        request = RecallRequest(
            tenant=TENANT,
            agent_id=AGENT.id,
            chat=self._chats[known.chat_id],
            scopes=(None,),
            readers=OPEN,
            query=question,
            tokens=budget,
            now=known.times[-1] + timedelta(days=1),
            zone=ZoneInfo("UTC"),
            thorough=thorough,
        )
        begun, processor = time.perf_counter(), time.process_time()
        recalled = self.recall.find(request)
        self.recall_seconds.append(time.perf_counter() - begun)
        self.cpu_seconds.append(time.process_time() - processor)
        if recalled.tokens > budget:
            raise AssertionError(f"{recalled.tokens} tokens in a budget of {budget}")
        return recalled


Kept = Callable[[Conversation, str, int], Mapping[int, str]]
"""Returns the texts that are shown for a question within a budget, by turn."""
Piece = tuple[int, Passage]
"""A passage of a turn."""
Order = Callable[[Conversation, str], Sequence[Piece]]
"""Orders the passages of a conversation for a question, best first."""


@lru_cache(maxsize=64)
def pieces_of(known: Conversation) -> tuple[Piece, ...]:
    """Return all passages of a conversation."""
    return tuple(
        (turn, passage) for turn, text in enumerate(known.texts) for passage in passages_of(text)
    )


class Bm25:
    """Scores texts by BM25, one word at a time."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._found: dict[str, list[tuple[int, int]]] = {}
        self._lengths = []
        for position, text in enumerate(texts):
            stems = stems_of(text)
            self._lengths.append(len(stems))
            for stem, count in Counter(stems).items():
                self._found.setdefault(stem, []).append((position, count))
        self._mean = max(mean(self._lengths), 1.0)

    def order(self, query: str) -> list[int]:
        """Return the positions of the texts that share a word's stem with a query, best first."""
        scores: dict[int, float] = defaultdict(float)
        for stem in dict.fromkeys(stems_of(query)):
            found = self._found.get(stem, [])
            rarity = math.log(1 + (len(self._lengths) - len(found) + 0.5) / (len(found) + 0.5))
            for position, count in found:
                norm = K1 * (1 - B + B * self._lengths[position] / self._mean)
                scores[position] += rarity * count * (K1 + 1) / (count + norm)
        return sorted(scores, key=lambda position: (-scores[position], -position))


def by_words() -> Order:
    """Return a function that orders passages by BM25 alone."""
    indexes: dict[str, Bm25] = {}

    def order(known: Conversation, question: str) -> list[Piece]:
        pieces = pieces_of(known)
        if known.chat_id not in indexes:
            indexes[known.chat_id] = Bm25([passage.text for _, passage in pieces])
        return [pieces[position] for position in indexes[known.chat_id].order(question)]

    return order


def newest(known: Conversation, _question: str) -> Sequence[Piece]:
    """Order by age, the newest passages first."""
    return pieces_of(known)[::-1]


def by_store(embeddings: StaticEmbeddings, conversations: Sequence[Conversation]) -> Order | None:
    """Return a function that orders passages as LangGraph's store does, by the same embeddings.

    LangGraph runs in the environment for peers, which `make bench` creates.

    Returns:
        None if that environment does not exist.
    """
    if not PEERS_PYTHON.exists():
        return None
    asked = [_for_store(embeddings, known) for known in conversations]
    done = subprocess.run(
        [str(PEERS_PYTHON), "-m", "bench.recall.store"],
        cwd=ROOT,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=STORE_SECONDS,
    )
    found = {
        (known.chat_id, question.text): order
        for known, orders in zip(conversations, json.loads(done.stdout), strict=True)
        for question, order in zip(known.questions, orders, strict=True)
    }
    return lambda known, question: [
        (turn, Passage(0, known.texts[turn])) for turn in found[known.chat_id, question]
    ]


def _for_store(embeddings: StaticEmbeddings, known: Conversation) -> dict[str, Any]:
    """Return a conversation in the form that `bench.recall.store` reads."""
    said = [f"{name}: {text}" for name, text in zip(known.speakers, known.texts, strict=True)]
    questions = [question.text for question in known.questions]
    texts = list(dict.fromkeys([*said, *questions]))
    vectors = (list(embedded.vector) for embedded in embeddings.embed(texts))
    return {
        "texts": said,
        "questions": questions,
        "vectors": dict(zip(texts, vectors, strict=True)),
    }


def packed(order: Order, tokens: Tokens) -> Kept:
    """Return a function that shows the best passages of an order that fit into a token budget.

    Each session that is shown costs the tokens of a heading.
    """
    heading = tokens.count("  -- 2026-02-18 --\n")

    @lru_cache(maxsize=100_000)
    def cost(line: str) -> int:
        return tokens.count(line)

    @lru_cache(maxsize=1)  # the budgets of a question follow each other
    def ordered(known: Conversation, question: str) -> Sequence[Piece]:
        return order(known, question)

    def kept(known: Conversation, question: str, budget: int) -> dict[int, str]:
        left, sessions = budget, set[int]()
        shown: dict[int, list[Passage]] = {}
        for turn, passage in ordered(known, question):
            text = joined_parts(known.texts[turn], [passage])
            line = f"  [msg:{turn + 1}] {known.speakers[turn]}: {quoted(text)}\n"
            session = known.sessions[turn]
            needed = cost(line) + (0 if session in sessions else heading)
            if needed <= left:
                left -= needed
                sessions.add(session)
                shown.setdefault(turn, []).append(passage)
            elif left < LEAST_LINE:
                break
        return {turn: joined_parts(known.texts[turn], parts) for turn, parts in shown.items()}

    return kept


def share_of(known: Conversation, question: Question, shown: Mapping[int, str]) -> float:
    """Return the share of a question's evidence that is shown.

    A question without evidence is answered if nothing is shown.
    """
    if not question.evidence:
        return float(not shown)
    decisive = question.decisive or ("",) * len(question.evidence)
    pairs = zip(question.evidence, decisive, strict=True)
    return mean(is_shown(known.texts[turn], shown.get(turn), text) for turn, text in pairs)


def is_shown(whole: str, shown: str | None, decisive: str) -> bool:
    """Tell whether enough of a message is shown.

    Enough is its decisive text, or, without a decisive text, 500 characters or half of the message.
    """
    if shown is None:
        return False
    if decisive:
        return " ".join(decisive.split()) in " ".join(shown.split())
    return len(shown) >= min(SHOWN_CHARACTERS, len(whole) / 2)


ByKind = dict[str, dict[int, float]]
"""The mean share of evidence by kind of question and budget; "" stands for all with evidence."""


def shares(conversations: Sequence[Conversation], kept: Kept) -> dict[int, float]:
    """Return the mean share of evidence within each budget."""
    return shares_by_kind(conversations, kept)[""]


def shares_by_kind(conversations: Sequence[Conversation], kept: Kept) -> ByKind:
    """Return the mean share of evidence by kind of question, and for all with evidence."""
    found: dict[str, dict[int, list[float]]] = {}
    for known in conversations:
        print(f"bench: {known.chat_id}", file=sys.stderr, flush=True)
        for question in known.questions:
            for budget in BUDGETS:
                share = share_of(known, question, kept(known, question.text, budget))
                kinds = {question.kind, "" if question.evidence else question.kind}
                for kind in kinds:
                    found.setdefault(kind, {}).setdefault(budget, []).append(share)
    return {
        kind: {budget: mean(values) for budget, values in each.items()}
        for kind, each in found.items()
    }


def verdicts(measured: dict[int, float]) -> list[str]:
    """Return a line for each required share: pass or FAIL, and whether the goal is reached."""
    return [
        f"{'pass' if measured[budget] >= least else 'FAIL'}  at least {least:.2f} of the evidence"
        f" at {budget:,} tokens: {measured[budget]:.3f}"
        f" (goal {GOAL[budget]:.2f}: {'reached' if measured[budget] >= GOAL[budget] else 'missed'})"
        for budget, least in REQUIRED.items()
    ]


def _row(name: str, measured: dict[int, float]) -> str:
    return f"{name:24}" + "".join(f"{measured[budget]:>8.3f}" for budget in BUDGETS)


def main(folder: str) -> int:
    """Measure the conversations of a folder and print a table.

    Returns:
        1 if a required share is missed or the folder holds no conversation, else 0.
    """
    embeddings, tokens = StaticEmbeddings(), Tokens()
    files = sorted(Path(folder).glob("*.json")) if folder else []
    conversations = [
        conversation(file.stem, json.loads(file.read_text(encoding="utf-8"))) for file in files
    ]
    if not conversations:
        print("bench: no conversation: set DATA to a folder of JSON files", file=sys.stderr)
        return 1
    questions = sum(len(known.questions) for known in conversations)
    print(f"{len(conversations)} conversations, {questions} questions with evidence\n")
    print(f"{'tokens':24}" + "".join(f"{budget:>8,}" for budget in BUDGETS))
    peers: dict[str, Order] = {"newest messages": newest, "BM25": by_words()}
    store = by_store(embeddings, conversations)
    if store is not None:
        peers["LangGraph's store search"] = store
    for name, order in peers.items():
        print(f"bench: {name}", file=sys.stderr, flush=True)
        print(_row(name, shares(conversations, packed(order, tokens))))
    print("bench: recall, each conversation in an index of its own", file=sys.stderr, flush=True)
    alone, seconds = {}, []
    for known in conversations:
        stand = Stand(embeddings, tokens)
        stand.hold(known)
        alone[known.chat_id] = stand
    measured = shares(
        conversations,
        lambda known, question, budget: alone[known.chat_id].recalled(known, question, budget),
    )
    seconds = [one for stand in alone.values() for one in stand.recall_seconds]
    print(_row("recall", measured))
    print("bench: recall, all conversations in one index", file=sys.stderr, flush=True)
    together = Stand(embeddings, tokens)
    for known in conversations:
        together.hold(known)
    print(_row("recall, all chats at once", shares(conversations, together.recalled)))
    print(f"\na recall took {mean(seconds) * 1e3:.0f} ms, p95 {_p95(seconds) * 1e3:.0f} ms")
    messages = sum(len(known.texts) for known in conversations)
    took = _p95(together.recall_seconds) * 1e3
    print(f"p95 among {messages:,} messages of all chats: {took:.0f} ms")
    lines = verdicts(measured)
    print("", *lines, sep="\n")
    return int(any(line.startswith("FAIL") for line in lines))


def _p95(seconds: Sequence[float]) -> float:
    return quantiles(seconds, n=20)[-1]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
