"""Recall: find old messages of an agent's chats that match a query and may be shown.

A recall has three steps: 1. A vector search for each scope and a batch read of postings, all in
parallel. 2. A ranking, which only uses CPU time. 3. A batch read of the best messages with their
neighbours, and a batch read of their chats.

The cost of a recall therefore does not depend on the length of the history.
"""

import logging
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from skein.errors import NoVectorIndex
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.storage import MAX_BATCH_GET_KEYS, Item, Key
from skein.models.common.vector_search import MAX_NEAREST, VectorSearch
from skein.models.directory.user import User
from skein.models.visibility.audience import Audience, may_show
from skein.models.visibility.provenance import MAX_OF_STRANGER, Authors, few_of_strangers
from skein.models.visibility.sharing_rules import MAX_PEOPLE
from skein.ports import (
    ModelTokens,
    ParallelMap,
    QueryEmbeddings,
    Table,
    VectorIndex,
    Vocabulary,
)
from skein.recall.candidates import (
    CandidateKeys,
    OwnRequest,
    RecallRequest,
    chosen,
    found_refs,
    is_long_answer,
    is_of,
    keys_of_shared,
    readable_lines,
)
from skein.recall.changes import ReadPassage, with_newer
from skein.recall.layout import RecalledEntry, fitting
from skein.recall.models.own_words import OwnWordsMemory
from skein.recall.models.stored import Posting, author_of, person_of_author
from skein.recall.passages import Passage, passages_of
from skein.recall.query import PreparedQuery, QueryReader, ends_with_question
from skein.recall.ranking import Hit, Line, MemoryRef, MessageRef, ranked
from skein.services.common.words import stems_of
from skein.services.visibility.sharing_rules import SaidMessage
from skein.tracing import span

# Limits of `Hit.strength`. If no passage reaches MATCH, nothing is shown. A passage below LEAST is
# never shown.
MATCH, LEAST = 0.20, 0.08
MONTH_SECONDS = 32 * 86_400  # the longest month, with one more day
ZONE = 14 * 3_600  # how far days in a time zone may differ from days in UTC

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The messages that a recall found.

    Attributes:
        entries: The messages, best first.
        tokens: The tokens of the lines and headings that show these messages.
    """

    entries: tuple[RecalledEntry, ...] = ()
    tokens: int = 0

    @property
    def people_of_rules(self) -> frozenset[str]:
        """The people whose words sharing rules show, by their IDs at the time of the recall."""
        return frozenset(entry.message.sender.id for entry in self.entries if entry.rules)


NOTHING = RecallResult()


@dataclass(frozen=True, slots=True)
class OngoingRecall:
    """A recall in progress.

    Attributes:
        request: What to find, and for which readers.
        prepared: The query.
        searches: Functions that find passages. They may be called in parallel.
        posting_keys: The keys of the postings to read.
    """

    request: RecallRequest
    prepared: PreparedQuery
    searches: tuple[Callable[[], Sequence[Item]], ...]
    posting_keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class RankedHits:
    """The candidates of a recall, ranked, with the messages to read for them.

    Attributes:
        prepared: The query, prepared again with the names of the passages' senders.
        lines: The found passages that are readable.
        choice: The messages to read.
        authors: The people whose words sharing rules may show. They were read before the chats of
            `choice`.
    """

    prepared: PreparedQuery
    lines: tuple[Line, ...]
    choice: CandidateKeys
    authors: Mapping[Key, Item]


class Recall:
    """The service that finds old messages.

    Args:
        vectors: The index of the vectors of passages.
        embeddings: Makes the embeddings of queries, with the same model as the index.
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
    ) -> None:
        self._table = table
        self._vectors = vectors
        self._embeddings = embeddings
        self._tokens = tokens
        self._parallel_map = parallel_map
        self._queries = QueryReader(embeddings, vocabulary)
        self._warned_no_index = False

    def find(self, request: RecallRequest) -> RecallResult:
        """Find the messages that match a query and may be shown.

        Raises:
            Transient: The table or the vector index failed.
        """
        searching = self.begin(request)
        if searching is None:
            return NOTHING
        calls: list[Callable[[], Sequence[Item]]] = [
            *searching.searches,
            lambda: self.postings(searching),
        ]
        with span("recall"):
            *found, postings = self._parallel_map(operator.call, calls)
            rule_items = self.read_shared(searching, found)
            candidates = self.rank(searching, found, postings, {}, rule_items)
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
                partition,
                self._embeddings.name,
                vector,
                MAX_NEAREST,
                author=author,
                month=month_of(request.first_at, request.last_at),
            )
            for partition in (*request.partitions, *request.shared_partitions)
            for author in _authors(request, prepared)
            if any(vector)
        ]
        keys = tuple(
            Posting.key_of(request.tenant, agent_id, scope, stem)
            for agent_id, scope in request.owners
            for stem in prepared.looked_up[: MAX_BATCH_GET_KEYS // len(request.owners)]
        )
        return OngoingRecall(request, prepared, tuple(map(self._search, searches)), keys)

    def postings(self, searching: OngoingRecall) -> list[Item]:
        """Read the postings of the query's words; if there are none to read, make no call."""
        keys = searching.posting_keys
        return list(self._table.get_many(keys, consistent=False).values()) if keys else []

    def read_shared(
        self, searching: OngoingRecall, found: Iterable[Sequence[Item]]
    ) -> Mapping[Key, Item]:
        """Read the items that decide whether sharing rules may show the found passages.

        With these items, the ranking leaves out passages that the readers must not know about.
        """
        keys = keys_of_shared((item for one in found for item in one), searching.request)
        return self._table.get_many(keys) if keys else {}

    def rank(
        self,
        searching: OngoingRecall,
        found: Iterable[Sequence[Item]],
        postings: Iterable[Item],
        known: Mapping[Key, Item],
        rule_items: Mapping[Key, Item],
    ) -> RankedHits:
        """Rank the found passages, and choose the messages to read.

        Args:
            searching: The recall.
            found: The passages that its searches found.
            known: Items that were already read for another purpose, and are not read again.
            rule_items: The items that `read_shared` has read.
        """
        request = searching.request
        lines, names = readable_lines((item for one in found for item in one), request, rule_items)
        prepared = self._queries.prepared(
            request.query,
            names | request.names,
            request.now,
            request.zone,
            before=searching.prepared,
        )
        hits = [
            hit
            for hit in ranked(prepared.query, lines)
            if _is_wanted(request, hit.line, names.get(hit.line.sender_id, ""))
            and (prepared.only_during or hit.strength >= LEAST)
        ]
        few = few_of_strangers(hits, _sender_of_hit, request.members, most=2 * MAX_OF_STRANGER)
        choice = chosen(request, few, found_refs(postings, request), known)
        told = {User.key_of(request.tenant, line.sender_id) for line in lines if line.by_rule}
        authors = {key: item for key, item in rule_items.items() if key in told}
        return RankedHits(prepared, tuple(lines), choice, authors)

    def read(self, choice: CandidateKeys) -> dict[Key, Item]:
        """Read the chosen messages, and the items that decide whether to show them, in parallel.

        Texts change only when they are deleted, so they are read with eventual consistency, which
        costs half as much.
        """
        read = self._table.get_many
        calls = [partial(read, batch, consistent=False) for batch in _batches(choice.texts)]
        calls += [partial(read, batch) for batch in _batches(choice.deciding)]
        found: dict[Key, Item] = {}
        for items in self._parallel_map(operator.call, calls):
            found |= items
        return found

    def finish(
        self,
        searching: OngoingRecall,
        candidates: RankedHits,
        items: Mapping[Key, Item],
        known: Mapping[Key, Item],
    ) -> RecallResult:
        """Return the best passages that may be shown and fit into the budget.

        Args:
            searching: The recall.
            candidates: The ranked passages.
            items: The items that were read.
            known: Items that were already read for another purpose.
        """
        request, prepared = searching.request, candidates.prepared
        shown = _Shown(request, {**known, **items, **candidates.authors})
        memories = candidates.choice.memories
        read = {
            ref: entry
            for ref in candidates.choice.messages
            if (entry := shown.entry(ref, memories.get(ref))) is not None
        }
        passages = {ref: passages_of(entry.full_text) for ref, entry in read.items()}
        found = {(*line.message, line.part): line for line in candidates.lines}
        for ref, parts in passages.items():
            for part, passage in enumerate(parts):
                key = (*ref, part)
                line = found.get(key) or _line_of(read[ref].message, part, len(parts), passage)
                found[key] = replace(line, asks=ends_with_question(passage.text))
        hits = [
            hit
            for hit in ranked(prepared.query, [*found.values()])
            if hit.line.message in read and hit.line.part < len(passages[hit.line.message])
        ]

        def statement(hit: Hit) -> ReadPassage:
            part = passages[hit.line.message][hit.line.part]
            entry = replace(read[hit.line.message], parts=(part,), score=hit.score)
            return ReadPassage(entry, hit.line.stems)

        entries = with_newer([*map(statement, _strong(hits, prepared))], [*map(statement, hits)])
        few = few_of_strangers(
            _without_repeats(entries),
            lambda entry: Authors.of([None if entry.rules else entry.message.sender.person_id]),
            request.members,
        )
        kept, tokens = fitting(
            _of_few_people(few, request),
            request.tokens,
            self._tokens,
            here=request.chat.id if request.chat is not None else None,
            zone=request.zone,
        )
        return RecallResult(tuple(kept), tokens)

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


def _batches(keys: Sequence[Key]) -> list[Sequence[Key]]:
    starts = range(0, len(keys), MAX_BATCH_GET_KEYS)
    return [keys[start : start + MAX_BATCH_GET_KEYS] for start in starts]


def _authors(request: RecallRequest, prepared: PreparedQuery) -> list[str | None]:
    """Return the authors to search for. None means everyone.

    A vector search returns the nearest 100 passages, and all of these may be from other people. If
    the query names one person, a thorough recall therefore makes a separate search for that
    person's passages. A prompt makes only one search for each scope.
    """
    named = prepared.query.sender_ids
    if request.author is not None or not request.thorough or len(named) != 1:
        return [request.author]
    return [None, *named]


def month_of(first_at: int | None, last_at: int | None) -> str | None:
    """Return the month (UTC) in which a range lies; None if the range may span several.

    The first and last 14 hours of the range do not count, because the range consists of days in a
    time zone, which can differ from days in UTC by as much.
    """
    if first_at is None or last_at is None or last_at - first_at > MONTH_SECONDS:
        return None
    ends = [datetime.fromtimestamp(at, UTC) for at in (first_at + ZONE, last_at - ZONE)]
    first, last = (f"{at:%Y-%m}" for at in sorted(ends))
    return first if first == last else None


def _line_of(message: Message, part: int, parts: int, passage: Passage) -> Line:
    """Return a passage of a message that was read, without a cosine."""
    author = author_of(message.sender)
    return Line(
        message.chat_id,
        message.seq,
        part,
        author,
        frozenset(stems_of(passage.text)),
        int(message.created_at.timestamp()),
        is_long_answer(author, parts),
    )


def _is_wanted(request: RecallRequest, line: Line, name: str) -> bool:
    if not request.in_time(line.created_at):
        return False
    return request.person is None or is_of(request.person, line.sender_id, name)


def _sender_of_hit(hit: Hit) -> Authors:
    """Return the author of a passage; empty for agents and for words shown by sharing rules."""
    line = hit.line
    return Authors.of([None if line.by_rule else person_of_author(line.sender_id)])


def _strong(hits: Sequence[Hit], prepared: PreparedQuery) -> list[Hit]:
    """Return the hits that match well enough. Empty if no hit reaches `MATCH`.

    If the query only asks for a time, all hits are returned.
    """
    if prepared.only_during:
        return list(hits)
    if max((hit.strength for hit in hits), default=0.0) < MATCH:
        return []
    return [hit for hit in hits if hit.strength >= LEAST]


def _without_repeats(entries: Sequence[RecalledEntry]) -> list[RecalledEntry]:
    """Remove entries that repeat a better entry with the same sender and text."""
    best: dict[tuple[str, str], RecalledEntry] = {}
    for entry in entries:
        best.setdefault((entry.message.sender.id, entry.text.strip().casefold()), entry)
    return list(best.values())


def _of_few_people(entries: Iterable[RecalledEntry], request: RecallRequest) -> list[RecalledEntry]:
    """Drop entries of sharing rules that would involve more than `MAX_PEOPLE` people in the run."""
    readers = request.reader_rules.versions if request.reader_rules is not None else {}
    people, kept = {*request.told, *readers}, list[RecalledEntry]()
    for entry in entries:
        author = {entry.message.sender.id} if entry.rules else set[str]()
        if len(people | author) <= MAX_PEOPLE or not author:
            people |= author
            kept.append(entry)
    return kept


@dataclass(frozen=True, slots=True)
class _Shown:
    """Decides which of the messages that were read may be shown."""

    request: RecallRequest
    items: Mapping[Key, Item]
    chats: dict[str, "_ShownChat | None"] = field(default_factory=dict)

    def entry(self, ref: MessageRef, memory: MemoryRef | None = None) -> RecalledEntry | None:
        """Return a message or a memory as an entry, or None if it is gone or may not be shown."""
        if memory is not None:
            return self._of_memory(memory)
        found = self._found(*ref)
        if found is None or not self._wanted(found.message):
            return None
        if may_show(found.audience, self.request.readers):
            return RecalledEntry(found.titled, found.message, (), 0.0, found.audience)
        return self._by_rule([found])

    def _of_memory(self, ref: MemoryRef) -> RecalledEntry | None:
        """Return a memory as an entry, if the readers may be shown all its source messages.

        Readers who were present for the messages are shown the messages instead.
        """
        sources = [self._found(ref.chat_id, seq) for seq in ref.seqs]
        found = [each for each in sources if each is not None]
        memory = OwnWordsMemory.read(self.items, ref.key)
        if memory is None or memory.seqs != ref.seqs or len(found) < len(sources):
            return None
        if any(may_show(each.audience, self.request.readers) for each in found):
            return None
        return self._by_rule(found, memory) if self._wanted(found[-1].message) else None

    def _by_rule(
        self, found: Sequence["_ShownMessage"], memory: OwnWordsMemory | None = None
    ) -> RecalledEntry | None:
        """Return the memory, or else the last message, as an entry if rules may show it."""
        last, request = found[-1], self.request
        said = [SaidMessage.of(each.stored) for each in found]
        rules = request.rules_for(last.message.chat_id, said, self.items)
        if not rules:
            return None
        author = User.must_read(self.items, User.key_of(request.tenant, last.stored.sender.id))
        version = author.sharing_version
        audience = request.readers
        return RecalledEntry(last.titled, last.message, (), 0.0, audience, rules, version, memory)

    def _found(self, chat_id: str, seq: int) -> "_ShownMessage | None":
        """Return a message, or None if the message is gone or the agent was not present for it."""
        request = self.request
        if chat_id not in self.chats:
            self.chats[chat_id] = self._shown_chat(chat_id)
        message = Message.read(self.items, Message.key_of(request.tenant, chat_id, seq))
        shown = self.chats[chat_id]
        if message is None or shown is None:
            return None
        chat, stored = shown.chat, message
        found = _ShownMessage(
            shown.titled, stored, chat.as_now(stored), request.audience_of(chat, seq)
        )
        present = request.present_for(chat, seq, shown.memberships)
        return found if present and request.reaches(chat, seq, stored.created_at) else None

    def _wanted(self, message: Message) -> bool:
        """Return whether a message has a text and matches the request."""
        request, sender = self.request, message.sender
        if not message.conversational or message.resets or not message.full_text:
            return False
        if message.words.by_rule and not request.shows_rule_words(message.chat_id):
            return False
        if request.person is not None and not is_of(request.person, sender.id, sender.name):
            return False
        if request.insiders.alone and not request.insiders.admit(message.words):
            return False
        at = int(message.created_at.timestamp())
        counts = request.counts(message.chat_id, message.seq, message.expires_at)
        return counts and request.in_time(at)

    def _shown_chat(self, chat_id: str) -> "_ShownChat | None":
        """Return a chat with what is needed to show its messages to the readers.

        Returns None if the chat is gone or discarded, or if one of the readers has yet to accept an
        invitation to it.
        """
        request = self.request
        chat = self._chat(chat_id)
        if chat is None or chat.discarded_at is not None:
            return None
        if chat.awaits(request.readers, request.now):
            return None
        titled = chat.titled_for(request.readers).titled_by(request.insiders, request.readers)
        return _ShownChat(chat, titled, request.memberships_in(chat, self.items))

    def _chat(self, chat_id: str) -> Chat | None:
        if isinstance(self.request, OwnRequest):
            return self.request.own.get(chat_id)
        if self.request.chat is not None and self.request.chat.id == chat_id:
            return self.request.chat
        return Chat.read(self.items, Chat.key_of(self.request.tenant, chat_id))


class _ShownMessage(NamedTuple):
    """A message as stored and with current names, its chat with a shown title, and its audience."""

    titled: Chat
    stored: Message
    message: Message
    audience: Audience


class _ShownChat(NamedTuple):
    """A chat, its copy with a title that may be shown, and the agent's memberships of it."""

    chat: Chat
    titled: Chat
    memberships: Sequence[Membership]
