"""ACTIVE THREAD and PENDING THREADS: the open threads of an agent that may be shown.

- What is read: the open threads in the scopes of the chat, and which thread is active in the chat's
  own scope. Then the active thread's documents, by key.
- What is kept: the threads that may be shown. Deleted documents are shown only by name.
- Order: the active thread with its documents, then the others by importance, one line each.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from skein.interface.reading import SectionItems, SectionReads
from skein.interface.section import Section, SectionInput, listing
from skein.models.common.storage import Key
from skein.models.visibility.provenance import Authors
from skein.ports import TokenCounter
from skein.prompts import render
from skein.services.common.quoting import quoted, quoted_id
from skein.workspace.models.thread import ACTIVE_THREAD, DEFAULT_PRIORITY, ActiveThread, Thread
from skein.workspace.sections.document_text import (
    DOCUMENTS_SHARE,
    ShownDocument,
    documents_section,
    named,
    texts_of,
)
from skein.workspace.thread_changes import document_in, document_keys

SWITCH = "switch_thread"
PENDING_TOKENS = 60  # the limit of a pending thread's line
MAX_PART = 200  # the maximum number of characters of each text in that line
MIN_PART = 8  # with fewer characters per text, the line shows no text

FIELDS = ("concern", "goal", "deliverable", "approach", "progress", "blocking")


@dataclass(frozen=True, slots=True)
class Threads(SectionItems):
    """The open threads that may be shown to the readers of a chat.

    Attributes:
        pending: The open threads besides the active one, most important first.
        of_chat: Whether the active thread is the one pinned to the chat.
        here: Whether the active thread is in the scope of the chat itself.
        documents: The documents of the active thread. Of deleted documents, only the name is known.
    """

    active: Thread | None = None
    pending: tuple[Thread, ...] = ()
    of_chat: bool = False
    here: bool = False
    documents: tuple[ShownDocument, ...] = ()
    owned = (ACTIVE_THREAD, Thread.PREFIX)
    optional = True

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the keys of the active thread's documents."""
        active = cls.opened(read).active
        return document_keys(active, active.documents) if active else ()

    @classmethod
    def found(cls, read: SectionReads) -> "Threads":
        """Keep the open threads that may be shown, with the active one's documents."""
        threads = cls.opened(read)
        if threads.active is None:
            return threads
        reach, active = read.reach, threads.active
        documents = (
            ShownDocument(name, document_in(active, name, read.found, reach))
            for name in active.documents
        )
        return replace(threads, documents=tuple(documents))

    def authors(self) -> Iterable[Authors]:
        threads = [*self.pending, *([self.active] if self.active is not None else [])]
        documents = (each.document for each in self.documents if each.document is not None)
        return (each.authors for each in (*threads, *documents))

    @classmethod
    def opened(cls, read: SectionReads) -> "Threads":
        """Return the open threads that may be shown, without documents.

        The active thread is the first of the following that is open and may be shown: the run's own
        active thread, the thread pinned to the chat if the run belongs to this chat, and the active
        thread of the scope.
        """
        run, chat, member, scope = read.run, read.chat, read.member, read.own_scope
        threads = {thread.id: thread for thread in read.shown(Thread)}
        key = ActiveThread.key_of(run.tenant, run.agent_id, scope)
        pointers = (item for item in read.owned if (item["pk"], item["sk"]) == key)
        here = next((item["thread_id"] for item in pointers), None)
        home = chat is not None and chat.id == run.own_chat_id
        pin = member.pinned_thread_id if member is not None and home else None
        wanted = (run.active_thread_id, pin, here)
        active_id = next((each for each in wanted if each in threads), None)
        active = threads.pop(active_id) if active_id is not None else None
        return cls(
            active=active,
            pending=tuple(sorted(threads.values(), key=lambda thread: thread.order)),
            of_chat=active is not None and active.id == pin,
            here=active is not None and active.scope == scope,
        )


def active_thread(given: SectionInput) -> Section | None:
    """Render the active thread with its documents; None if no thread is active."""
    threads = given.reading.of(Threads)
    if threads.active is None:
        return None
    documents, limit = threads.documents, given.tokens_left // DOCUMENTS_SHARE
    render = thread_text(threads.active, documents, pinned=threads.of_chat)
    return documents_section("ACTIVE THREAD", render, documents, limit, given.counter)


def thread_text(
    thread: Thread, documents: Sequence[ShownDocument], *, pinned: bool = False
) -> Callable[[int], str]:
    """Return a function that renders a thread with at most n characters of each document.

    A default priority is left out, and so is a tag that equals the media type of a shown document.
    """
    facts = [f"{thread.kind}", *_priority(thread)]
    if thread.mode:
        facts.append(f"mode: {quoted(thread.mode)}")
    types = {each.document.media_type for each in documents if each.document is not None}
    if tags := [quoted(tag) for tag in thread.skill_tags if tag not in types]:
        facts.append(f"tags: {', '.join(tags)}")
    suffix = " [this chat starts with it]" if pinned else ""
    lines = [f"ACTIVE THREAD: {quoted_id(thread.id)}{suffix}", f"  ({', '.join(facts)})"]
    lines += [f"  {name}: {quoted(text)}" for name in FIELDS if (text := getattr(thread, name))]
    return lambda characters: "\n".join([*lines, *texts_of(documents, characters)])


def pending_threads(given: SectionInput) -> Section | None:
    """Render the other open threads, if there are any."""
    threads, limit, counter = given.reading.of(Threads).pending, given.list_limit, given.counter
    if not threads:
        return None
    lines = [pending_line(thread, counter) for thread in threads]
    if given.offers(SWITCH):
        lines.insert(0, f"  {render('pending_threads_hint')}")
    return listing("PENDING THREADS", lines, limit, counter)


def pending_line(thread: Thread, counter: TokenCounter) -> str:
    """Render a thread as a line of at most 60 tokens, with shortened texts."""
    line = _line(thread, MAX_PART)
    if counter.count(line) <= PENDING_TOKENS:
        return line
    fits, too_long = 0, MAX_PART
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if counter.count(_line(thread, middle)) <= PENDING_TOKENS:
            fits = middle
        else:
            too_long = middle
    return _line(thread, fits)


def _line(thread: Thread, characters: int) -> str:
    """Render the line with at most `characters` of each text, or without texts if below 8."""
    parts = _priority(thread)
    head = f"  - {quoted_id(thread.id)}"
    if characters >= MIN_PART:
        head = f"{head} {quoted(_cut(thread.concern, characters))}"
        parts += [
            f"{name}: {quoted(_cut(text, characters))}"
            for name in ("approach", "progress")
            if (text := getattr(thread, name))
        ]
        parts += _documents(thread, characters)
    return f"{head} ({', '.join(parts)})" if parts else head


def _priority(thread: Thread) -> list[str]:
    return [f"priority: {thread.priority}"] if thread.priority != DEFAULT_PRIORITY else []


def _documents(thread: Thread, characters: int) -> list[str]:
    if not thread.documents:
        return []
    shown: list[str] = []
    left = characters
    for name in thread.documents:
        left -= len(name)
        if left < 0:
            break
        shown.append(named(name))
    missing = len(thread.documents) - len(shown)
    if missing:
        shown.append(f"{missing} more" if shown else str(missing))
    return [f"documents: {', '.join(shown)}"]


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters].rstrip()}\u2026"
