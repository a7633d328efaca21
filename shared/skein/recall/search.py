"""Recall: find the messages of an agent's past that match a query and may be shown.

A recall has three steps: two vector searches and a batch of postings, all at once; then a ranking;
then a batch of the best messages with their chats. So its cost does not depend on the length of the
history. The step between the calls is CPU time alone. A caller that reads a batch anyway reads the
postings with it.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from skein.errors import NoVectorIndex
from skein.models.chats.chat import Chat, Message, chat_partition
from skein.models.common.audience import may_show
from skein.models.common.embedding import Embedding
from skein.models.common.ownership import owned_partition
from skein.models.common.provenance import MAX_OF_STRANGER, Authors, few_of_strangers
from skein.models.common.storage import MAX_BATCH_GET_KEYS, Item, Key, Query
from skein.models.common.vector_search import MAX_NEAREST, VectorSearch
from skein.ports import (
    ModelTokens,
    ParallelMap,
    QueryEmbeddings,
    Table,
    VectorIndex,
    Vocabulary,
)
from skein.recall.candidates import (
    AGENT,
    CandidateKeys,
    MessageRef,
    OwnRequest,
    RecallRequest,
    chosen,
    found_refs,
    is_of,
    readable_blocks,
    with_private_from,
)
from skein.recall.layout import RecalledEntry, excerpt, fitting
from skein.recall.models.block import Block, BlockLine, IndexedText, block_number, block_of
from skein.recall.models.stored import Posting
from skein.recall.query import PreparedQuery, QueryReader
from skein.recall.questions import ends_with_question
from skein.recall.ranking import Hit, Measures, ranked
from skein.recall.words import stems_of
from skein.services.chat_state.audience import everybody_since
from skein.settings import Settings

QUESTION = 0.9  # subtracted from the score of a message that ends with a question
DURING = 1.5  # added to the score of a message from the time that the query names
AFTERWARDS = 2 * 86_400  # seconds after that time that still count: people tell of a day later
# Limits of `Hit.strength`: nothing is shown if no message reaches MATCH. No message below LEAST is.
MATCH, LEAST = 0.25, 0.08

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The messages that a recall found.

    Attributes:
        entries: The messages, best first.
        tokens: Their tokens as lines with headings.
    """

    entries: tuple[RecalledEntry, ...] = ()
    tokens: int = 0


NOTHING = RecallResult()


@dataclass(frozen=True, slots=True)
class OngoingRecall:
    """A recall that has begun.

    Attributes:
        request: What is recalled.
        prepared: The query.
        searches: The calls that find blocks; they may run at the same time.
        posting_keys: The keys of the postings to read.
    """

    request: RecallRequest
    prepared: PreparedQuery
    searches: tuple[Callable[[], Sequence[Item]], ...]
    posting_keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class RankedHits:
    """The candidates of a recall.

    Attributes:
        prepared: The query, with the people whom the blocks name.
        blocks: The found blocks with readable lines.
        hits: The lines that match, best first.
        choice: The messages to read.
        measures: What was measured of the lines; see `ranked`.
    """

    prepared: PreparedQuery
    blocks: tuple[Block, ...]
    hits: tuple[Hit, ...]
    choice: CandidateKeys
    measures: Measures


class Recall:
    """The service that finds old messages.

    Args:
        vectors: The index of the vectors of blocks.
        embeddings: The embeddings of queries, by the model of the index.
        vocabulary: The common words.
        parallel_map: Makes several calls at once.
    """

    def __init__(
        self,
        *,
        table: Table,
        vectors: VectorIndex,
        embeddings: QueryEmbeddings,
        vocabulary: Vocabulary,
        tokens: ModelTokens,
        parallel_map: ParallelMap,
        settings: Settings,
    ) -> None:
        self._table = table
        self._vectors = vectors
        self._embeddings = embeddings
        self._settings = settings
        self._tokens = tokens
        self._parallel_map = parallel_map
        self._queries = QueryReader(embeddings, vocabulary)
        self._warned_no_index = False

    def find(self, request: RecallRequest) -> RecallResult:
        """Find the messages that match a query and may be shown.

        Raises:
            Transient: The table or the vector index failed.
        """
        query = late_joining(request.chat)
        if query is not None:
            page = self._table.query(query)
            request = with_private_from(request, next(iter(page.items), None))
        searching = self.begin(request)
        if searching is None:
            return NOTHING
        calls: list[Callable[[], Sequence[Item]]] = [
            *searching.searches,
            lambda: self.postings(searching),
        ]
        *blocks, postings = self._parallel_map(lambda call: call(), calls)
        candidates = self.rank(searching, blocks, postings, {})
        return self.finish(searching, candidates, self.read(candidates.choice), {})

    def begin(self, request: RecallRequest) -> OngoingRecall | None:
        """Prepare a query and its calls; None if the query has nothing to search for."""
        if request.tokens <= 0 or not request.owners:
            return None
        prepared = self._queries.prepared(request.query, request.names, request.now, request.zone)
        if not prepared.says_something:
            return None
        if prepared.only_during and prepared.during is not None and request.first_at is None:
            during = prepared.during
            request = replace(request, first_at=during.first_at, last_at=during.last_at)
        vector = prepared.query.vector
        searches = [
            VectorSearch(
                owned_partition(request.tenant, agent_id, scope),
                self._embeddings.name,
                vector,
                MAX_NEAREST,
                _later(request.first_at, request.private_from if scope else None),
                request.last_at,
            )
            for agent_id, scope in request.owners
            if any(vector)
        ]
        keys = tuple(
            Posting.key_of(request.tenant, agent_id, scope, stem)
            for agent_id, scope in request.owners
            for stem in prepared.looked_up[: MAX_BATCH_GET_KEYS // len(request.owners)]
        )
        return OngoingRecall(request, prepared, tuple(map(self._search, searches)), keys)

    def postings(self, searching: OngoingRecall) -> list[Item]:
        """Read the postings in a batch of their own; no call if there are none to read."""
        keys = searching.posting_keys
        return list(self._table.get_many(keys).values()) if keys else []

    def rank(
        self,
        searching: OngoingRecall,
        found: Iterable[Sequence[Item]],
        postings: Iterable[Item],
        known: Mapping[Key, Item],
    ) -> RankedHits:
        """Rank what was found, and choose the messages to read.

        Args:
            searching: The recall.
            found: The blocks that its searches found.
            known: Items that were read for something else, which are not read again.
        """
        request = searching.request
        blocks, names = readable_blocks((item for one in found for item in one), request)
        prepared = self._queries.prepared(
            request.query,
            names | request.names,
            request.now,
            request.zone,
            before=searching.prepared,
        )
        refs = [ref for ref, _ in found_refs(postings, request, blocks)]
        lines = {(block.chat_id, line.seq): line for block in blocks for line in block.lines}
        measures: Measures = {}
        hits = [
            hit
            for hit in self._hits(prepared, blocks, lines, measures)
            if self._wanted(request, lines[hit.chat_id, hit.seq], names)
        ]
        least = -1.0 if prepared.only_during else LEAST
        ordered = [(hit, lines[hit.chat_id, hit.seq]) for hit in hits if hit.strength >= least]
        few = few_of_strangers(ordered, _sender_of_line, request.members, most=2 * MAX_OF_STRANGER)
        choice = chosen(request, few, refs, known)
        return RankedHits(prepared, tuple(blocks), tuple(hits), choice, measures)

    def read(self, choice: CandidateKeys) -> dict[Key, Item]:
        """Read the chosen messages with their chats: one batch, or two for a large budget."""
        starts = range(0, len(choice.keys), MAX_BATCH_GET_KEYS)
        batches = [choice.keys[start : start + MAX_BATCH_GET_KEYS] for start in starts]
        found: dict[Key, Item] = {}
        for items in self._parallel_map(self._table.get_many, batches):
            found |= items
        return found

    def finish(
        self,
        searching: OngoingRecall,
        candidates: RankedHits,
        items: Mapping[Key, Item],
        known: Mapping[Key, Item],
    ) -> RecallResult:
        """Return the best messages that may be shown and fit into the budget.

        Args:
            searching: The recall.
            candidates: What was ranked.
            items: What was read.
            known: Items that were read for something else.
        """
        request = searching.request
        shown = _Shown(request, dict(known) | dict(items))
        entries = {
            ref: entry
            for ref in candidates.choice.messages
            if (entry := shown.entry(ref, candidates.prepared.query.stems)) is not None
        }
        hits = self._hits_of_read(candidates, entries)
        scored = [
            replace(entries[hit.chat_id, hit.seq], score=score)
            for hit, score in _scored(hits, entries, candidates.prepared)
        ]
        few = few_of_strangers(
            _without_repeats(scored),
            lambda entry: Authors.of([entry.message.sender.person_id]),
            request.members,
        )
        kept, tokens = fitting(
            few,
            request.tokens,
            self._tokens,
            here=request.chat.id if request.chat is not None else None,
            zone=request.zone,
        )
        return RecallResult(tuple(kept), tokens)

    def _hits(
        self,
        prepared: PreparedQuery,
        blocks: Sequence[Block],
        lines: Mapping[MessageRef, BlockLine],
        measures: Measures,
    ) -> list[Hit]:
        hits = ranked(prepared.query, blocks, measures)
        during = prepared.during
        if during is None:
            return hits
        last_at = during.last_at + AFTERWARDS
        hits = [
            replace(hit, score=hit.score + DURING)
            if during.first_at <= lines[hit.chat_id, hit.seq].created_at <= last_at
            else hit
            for hit in hits
        ]
        return sorted(hits, key=lambda hit: (-hit.score, -hit.seq))

    @staticmethod
    def _wanted(request: RecallRequest, line: BlockLine, names: Mapping[str, str]) -> bool:
        if not request.in_time(line.created_at):
            return False
        name = names.get(line.sender_id, "")
        return request.person is None or is_of(request.person, line.sender_id, name)

    def _hits_of_read(
        self, candidates: RankedHits, entries: Mapping[MessageRef, RecalledEntry]
    ) -> Sequence[Hit]:
        """Return the hits, ranked again if messages outside the found blocks were read."""
        known = {(block.chat_id, line.seq) for block in candidates.blocks for line in block.lines}
        new: dict[tuple[str, int], list[Message]] = {}
        for ref, entry in sorted(entries.items()):
            if ref not in known:
                number = block_number(entry.message.seq)
                new.setdefault((entry.chat.id, number), []).append(entry.message)
        if not new:
            return candidates.hits
        made = [
            self._block(chat_id, number, messages) for (chat_id, number), messages in new.items()
        ]
        blocks = [*candidates.blocks, *made]
        lines = {(block.chat_id, line.seq): line for block in blocks for line in block.lines}
        return self._hits(candidates.prepared, blocks, lines, candidates.measures)

    def _block(self, chat_id: str, number: int, messages: Sequence[Message]) -> Block:
        """Make a block of messages that were read, whose own block was not found.

        The messages are compared by their words alone if embeddings cost a call.
        """
        if not self._settings.embeddings_model:
            embedded = self._embeddings.embed([message.text for message in messages])
        else:
            embedded = [Embedding((0.0,) * self._embeddings.dimensions, 0.0)] * len(messages)
        texts = [
            IndexedText(
                seq=message.seq,
                sender_id=message.sender.id,
                stems=stems_of(message.text),
                embedding=embedding,
                created_at=int(message.created_at.timestamp()),
            )
            for message, embedding in zip(messages, embedded, strict=True)
        ]
        return block_of(chat_id, number, self._embeddings.name, texts)

    def _search(self, search: VectorSearch) -> Callable[[], Sequence[Item]]:
        def call() -> Sequence[Item]:
            try:
                return self._vectors.nearest(search)
            except NoVectorIndex as error:
                if not self._warned_no_index:
                    self._warned_no_index = True
                    logger.warning("recall searches by words only", exc_info=error)
                return ()

        return call


def late_joining(chat: Chat | None) -> Query | None:
    """Return the query for the first message that all readers of a private chat were present for.

    Returns:
        None if all readers were always present.
    """
    if chat is None or everybody_since(chat) == 1:
        return None
    first, last = (
        Message.key_of(chat.tenant, chat.id, seq).sk
        for seq in (everybody_since(chat), max(chat.last_seq, everybody_since(chat)))
    )
    return Query(chat_partition(chat.tenant, chat.id), first=first, last=last, limit=1)


def _sender_of_line(candidate: tuple[Hit, BlockLine]) -> Authors:
    """Return the person who wrote a line, by id; nobody for an agent."""
    sender_id = candidate[1].sender_id
    return Authors.of([None if sender_id.startswith(AGENT) else sender_id])


def _later(one: int | None, other: int | None) -> int | None:
    known = [at for at in (one, other) if at is not None]
    return max(known, default=None)


def _scored(
    hits: Sequence[Hit], entries: Mapping[MessageRef, RecalledEntry], prepared: PreparedQuery
) -> list[tuple[Hit, float]]:
    """Return the hits among the entries that match well enough, best first."""
    among = [hit for hit in hits if (hit.chat_id, hit.seq) in entries]
    if not prepared.only_during:
        if max((hit.strength for hit in among), default=0.0) < MATCH:
            return []
        among = [hit for hit in among if hit.strength >= LEAST]
    scored = [
        (
            hit,
            hit.score
            - (QUESTION if ends_with_question(entries[hit.chat_id, hit.seq].message.text) else 0.0),
        )
        for hit in among
    ]
    return sorted(scored, key=lambda pair: (-pair[1], -pair[0].seq))


def _without_repeats(entries: Sequence[RecalledEntry]) -> list[RecalledEntry]:
    """Return entries without those that repeat a better one of the same sender and text."""
    best: dict[tuple[str, str], RecalledEntry] = {}
    for entry in entries:
        best.setdefault((entry.message.sender.id, entry.text.strip().casefold()), entry)
    return list(best.values())


@dataclass(frozen=True, slots=True)
class _Shown:
    """Decides which of the read messages may be shown."""

    request: RecallRequest
    items: Mapping[Key, Item]

    def entry(self, ref: MessageRef, stems: frozenset[str]) -> RecalledEntry | None:
        """Return a message as an entry; None if it is gone or may not be shown."""
        chat_id, seq = ref
        request = self.request
        item = self.items.get(Message.key_of(request.tenant, chat_id, seq))
        chat = self._chat(chat_id)
        if item is None or chat is None or chat.discarded_at is not None:
            return None
        if chat.awaits(request.readers, request.now):
            return None
        message = chat.as_now(Message.from_item(item))
        audience = request.audience_of(chat, seq)
        present = request.present_for(chat, seq, self.items) and may_show(audience, request.readers)
        reached = request.reaches(chat, seq, message.created_at)
        if not present or not reached or not self._wanted(message):
            return None
        titled = chat.titled_for(request.readers).titled_by(request.insiders)
        return RecalledEntry(titled, message, excerpt(message.text, stems), 0.0, audience)

    def _wanted(self, message: Message) -> bool:
        """Tell whether a message has a text and is one of those that the request asks for."""
        request, sender = self.request, message.sender
        if not message.conversational or message.resets or not message.text.strip():
            return False
        if request.person is not None and not is_of(request.person, sender.id, sender.name):
            return False
        if not request.insiders.admit(message.words):
            return False
        at = int(message.created_at.timestamp())
        counts = request.counts(message.chat_id, message.seq, message.expires_at)
        return counts and request.in_time(at)

    def _chat(self, chat_id: str) -> Chat | None:
        if isinstance(self.request, OwnRequest):
            return self.request.own.get(chat_id)
        if self.request.chat is not None and self.request.chat.id == chat_id:
            return self.request.chat
        item = self.items.get(Chat.key_of(self.request.tenant, chat_id))
        return Chat.from_item(item) if item is not None else None
