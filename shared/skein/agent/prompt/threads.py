"""The sections of threads: the active thread with documents, the others by line."""

from collections.abc import Callable, Sequence

from skein.agent.prompt.documents import documents_section, named, texts_of
from skein.agent.prompt.section import Section, listing
from skein.agent.reading.workspace import OpenThreads, ShownDocument
from skein.models.workspace.thread import DEFAULT_PRIORITY, Thread
from skein.ports import TokenCounter
from skein.services.common.quoting import quoted, quoted_id

# See `sections` for the order in which sections are shortened.
ACTIVE_GIVES_WAY, PENDING_GIVE_WAY = 0, 4

PENDING_TOKENS = 60  # the limit of a pending thread's line
MAX_PART = 200  # the most characters of each text in that line
MIN_PART = 8  # with fewer characters per text, the line shows no text

FIELDS = ("concern", "goal", "deliverable", "approach", "progress", "blocking")


def active_thread(
    threads: OpenThreads, documents: Sequence[ShownDocument], limit: int, counter: TokenCounter
) -> Section | None:
    """Render the active thread with its documents; None if no thread is active.

    Args:
        documents: The documents of the active thread; deleted ones by name alone.
    """
    if threads.active is None:
        return None
    render = thread_text(threads.active, documents, pinned=threads.of_chat)
    priority = ACTIVE_GIVES_WAY
    return documents_section("ACTIVE THREAD", render, documents, limit, counter, priority=priority)


def thread_text(
    thread: Thread, documents: Sequence[ShownDocument], *, pinned: bool = False
) -> Callable[[int], str]:
    """Return a function that renders a thread with at most n characters of each document.

    The default priority, and tags that are the media type of a shown document, are not shown.
    """
    facts = [f"{thread.kind}", *_priority(thread)]
    if thread.mode:
        facts.append(f"mode: {quoted(thread.mode)}")
    types = {each.document.media_type for each in documents if each.document is not None}
    if tags := [quoted(tag) for tag in thread.skill_tags if tag not in types]:
        facts.append(f"tags: {', '.join(tags)}")
    suffix = " [pinned to this chat]" if pinned else ""
    lines = [f"ACTIVE THREAD: {quoted_id(thread.id)}{suffix}", f"  ({', '.join(facts)})"]
    lines += [f"  {name}: {quoted(text)}" for name in FIELDS if (text := getattr(thread, name))]
    return lambda characters: "\n".join([*lines, *texts_of(documents, characters)])


def pending_threads(threads: Sequence[Thread], limit: int, counter: TokenCounter) -> Section | None:
    """Render the other open threads, most important first; None if there are none."""
    if not threads:
        return None
    lines = [pending_line(thread, counter) for thread in threads]
    return listing("PENDING THREADS", lines, limit, counter, priority=PENDING_GIVE_WAY)


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
    """Render the line with at most `characters` of each text; below 8, without any text."""
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
