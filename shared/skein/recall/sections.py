"""RECALLED: old messages that match the message to answer.

- What is read: the search runs in parallel with the second round of reads, and takes one more
  round. If recall fails or is late, the prompt is built without it.
- What is kept: the best matches that may be shown, as many as fit into the budget (`recall/`).
- Order: by chat and day, oldest first.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from skein.interface.reading import (
    READ_SECONDS,
    BeginInput,
    Load,
    LoadInput,
    SectionItems,
    SectionReads,
    current_seq,
)
from skein.interface.section import SEPARATOR, Section, SectionInput
from skein.models.chats.chat import Chat, Message
from skein.models.common.person_names import split_tag
from skein.models.common.storage import Item, Key
from skein.models.directory.agent import Agent
from skein.models.runs.provenance import EntryProvenance
from skein.models.runs.run import Run
from skein.models.visibility.audience import may_show
from skein.models.visibility.ownership import scopes_at
from skein.models.visibility.provenance import Authors, Span
from skein.ports import Clock, Metrics
from skein.prompts import render
from skein.recall.candidates import RecallRequest
from skein.recall.layout import RecalledEntry, fitting, recalled_lines
from skein.recall.query import needs_recall
from skein.recall.ranking import MessageRef
from skein.recall.search import OngoingRecall, Recall
from skein.recall.time_phrases import time_range_in
from skein.services.config.resolution import effective_in
from skein.settings import Settings

MAX_NEW = 3  # newest messages of people that make up the query
MAX_QUERY = 2_000  # characters of the query
SHARE_OF_TIME = 0.8  # share of a reading's time limit that recall may take
UTC = ZoneInfo("UTC")
RECALLED_SHARE = 4  # recalled messages take at most a quarter of the prompt

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecalledMessages(SectionItems):
    """The recalled messages, best first; `PromptRecall` finds them during the reading."""

    entries: tuple[RecalledEntry, ...] = ()

    def authors(self) -> Iterable[Authors]:
        """Return the people whose words the messages and the titles can contain."""
        return [entry.words for entry in self.entries]


@dataclass(frozen=True, slots=True)
class StartedRecall:
    """A recall whose calls are in progress.

    Attributes:
        recall: The service.
        ongoing: The recall.
        found: The passages that its searches find.
    """

    run: Run
    recall: Recall
    ongoing: OngoingRecall
    found: tuple[Future[Sequence[Item]], ...]
    postings: Future[list[Item]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRecall:
    """The service that recalls old messages for prompts.

    Attributes:
        recall: A function that returns the service, which is built at its first use.
        clock: The clock, which limits the time that a prompt waits for recall.
        settings: The budget, and the time limit of a reading.
    """

    recall: Callable[[], Recall]
    clock: Clock
    metrics: Metrics
    settings: Settings

    def begin(self, read: SectionReads, known: BeginInput) -> Load | None:
        """Start the searches of a recall; None if there is no text to search with.

        See `SectionLoader`. If a recorded prompt is repeated, nothing is recalled.
        """
        text, run, chat, sharing = query_of(read), read.run, read.chat, known.sharing
        if known.began is None or self._tokens(run, chat, known.prefetched) <= 0:
            return None
        if not _may_need_recall(text, self.clock.now()):
            return None
        request = RecallRequest(
            tenant=run.tenant,
            agent_id=run.agent_id,
            chat=chat,
            member=read.member,
            scopes=scopes_at(read.scope),
            readers=read.readers,
            query=text,
            tokens=1,
            now=self.clock.now(),
            zone=UTC,
            shown=frozenset((message.chat_id, message.seq) for message in read.messages),
            reader_rules=sharing.for_readers if sharing is not None else None,
        )
        try:
            recall = self.recall()
            ongoing = recall.begin(request)
        except Exception as error:
            self._missing(run, error)
            return None
        if ongoing is None:
            return None
        submit = known.pool.submit
        searches = [submit(copy_context().run, search) for search in ongoing.searches]
        postings = submit(copy_context().run, recall.postings, ongoing)
        started = StartedRecall(run, recall, ongoing, tuple(searches), postings)
        return partial(self._finish, started, known.began)

    def _finish(
        self, started: StartedRecall, began: datetime, given: LoadInput
    ) -> RecalledMessages:
        """Return the recalled messages. Empty if recall fails or is late.

        Args:
            began: When the reading began.
        """
        limit = timedelta(seconds=READ_SECONDS * SHARE_OF_TIME)
        left = (limit - (self.clock.now() - began)).total_seconds()
        found, request = given.read.found, started.ongoing.request
        request = replace(
            request,
            tokens=given.effective.recall_tokens,
            zone=given.zone,
            insiders=given.read.insiders,
            shown=given.shown | request.shown,
        )
        ongoing, recall = replace(started.ongoing, request=request), started.recall

        def finished() -> RecalledMessages:
            passages = [search.result() for search in started.found]
            rule_items = recall.read_shared(ongoing, passages)
            postings = started.postings.result()
            candidates = recall.rank(ongoing, passages, postings, found, rule_items)
            items = recall.read(candidates.choice)
            entries = recall.finish(ongoing, candidates, items, found).entries
            return RecalledMessages(tuple(_without_repeats(entries, given.repeats)))

        try:
            return self.clock.within(max(left, 0.0), finished)
        except Exception as error:
            self._missing(started.run, error)
            return RecalledMessages()

    def _tokens(self, run: Run, chat: Chat | None, prefetched: Mapping[Key, Item | None]) -> int:
        """Return the token budget, from the settings that are known when the reading begins."""
        agent = Agent.read(prefetched, Agent.key_of(run.tenant, run.agent_id))
        known = effective_in(chat, self.settings) if chat is not None else self.settings
        return known.overridden(agent.settings if agent else {}).recall_tokens

    def _missing(self, run: Run, error: Exception) -> None:
        logger.warning("failed to recall", extra={"run_id": run.id}, exc_info=error)
        self.metrics.count("RecallMissing")


def _may_need_recall(text: str, now: datetime) -> bool:
    """Return whether a text needs recall: it names a time, or is more than small talk."""
    return needs_recall(text) or time_range_in(text, now, UTC) is not None


def query_of(read: SectionReads) -> str:
    """Return the text with which to search for old messages. It may be empty.

    The text is the first of these that exists:
    - the newest messages of people that the agent has not seen
    - the message to answer
    - the instruction of the plan, the payload of the service, or else the newest message of others,
      if the readers may know what started the run
    """
    run, chat, member = read.run, read.chat, read.member
    texts = [one for one in read.messages if one.conversational and not one.resets]
    seen = member.seen_seq if member is not None else 0
    others = [message for message in texts if message.sender.id != run.agent_id]
    asked = [one for one in others if one.sender.kind == "user" and one.seq > seen][-MAX_NEW:]
    if not asked:
        current = current_seq(run, chat)
        asked = [message for message in texts if message.seq == current]
    if asked:
        return "\n".join(message.text for message in asked)[-MAX_QUERY:]
    trigger = run.trigger
    if chat is not None and not may_show(run.audience, chat.readers):
        return ""
    if trigger.plan is not None:
        return trigger.plan.instruction[:MAX_QUERY]
    if trigger.service is not None:
        return trigger.service.payload[:MAX_QUERY]
    return "\n".join(message.text for message in others[-1:])[:MAX_QUERY]


def recalled(given: SectionInput) -> Section | None:
    """Render the recalled messages by chat and day, oldest first; None if none fit."""
    counter, zone = given.counter, given.context.zone
    found, named = given.reading.of(RecalledMessages).entries, given.names.__getitem__

    def repeats(message: Message) -> bool:
        span = Span(chat_id=message.chat_id, first_seq=message.seq, last_seq=message.seq)
        return given.tells([span], message.full_text)

    entries = _without_repeats(found, repeats)
    remarks = [render("recalled_note")]
    if any(split_tag(named(entry.message.sender))[1] for entry in entries):
        remarks.append(render("chosen_note"))
    head = f"RECALLED ({'; '.join(remarks)}):"
    here = given.reading.chat.id if given.reading.chat is not None else None
    budget = given.reading.config.effective.recall_tokens

    def within(tokens: int) -> Section:
        kept, _ = fitting(entries, tokens, counter, here=here, zone=zone, named=named)
        text = "\n".join([head, *recalled_lines(kept, here, zone, named)])
        size = counter.count(text + SEPARATOR)
        shown = sorted(kept, key=lambda entry: (entry.message.created_at, entry.message.seq))
        return Section("RECALLED", text, size, shorter, entries=tuple(map(_provenance, shown)))

    def shorter(tokens: int) -> Section:
        return within(tokens - counter.count(head + SEPARATOR))

    whole = within(min(budget, given.tokens_left // RECALLED_SHARE))
    return whole if whole.text != head else None


def _without_repeats(
    entries: Sequence[RecalledEntry], repeats: Callable[[Message], bool]
) -> list[RecalledEntry]:
    """Return the entries without messages that the prompt already shows in another section.

    A neighbour of such a message is also left out if it matches less well than the message: it may
    have been found only because it is a neighbour. Entries shown by sharing rules are never left
    out.
    """
    gone: dict[MessageRef, float] = {}
    for entry in entries:
        if not entry.rules and repeats(entry.message):
            gone[entry.ref] = max(entry.score, gone.get(entry.ref, entry.score))

    def stays(entry: RecalledEntry) -> bool:
        chat_id, seq = entry.ref
        beside = [gone[ref] for ref in ((chat_id, seq - 1), (chat_id, seq + 1)) if ref in gone]
        return bool(entry.rules) or (
            entry.ref not in gone and all(entry.score >= score for score in beside)
        )

    return [entry for entry in entries if stays(entry)]


def _provenance(entry: RecalledEntry) -> EntryProvenance:
    message = entry.message
    return EntryProvenance(
        section="RECALLED",
        kind="memory" if entry.memory else "message",
        id=entry.memory.id if entry.memory else None,
        chat_id=message.chat_id,
        from_seq=entry.seqs[0],
        to_seq=message.seq,
        at=message.created_at,
        open=entry.audience.open,
        rule_ids=tuple(rule.id for rule in entry.rules),
    )
