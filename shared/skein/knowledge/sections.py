"""KNOWLEDGE: what the business has written.

- What is read: the list of indexes and, if some sources are limited to roles, the people of the
  chat. The indexes themselves come from the bucket, once for each container.
- What is kept: the passages of sources that the agent may use and all readers may see.
- Order: if all passages fit, all of them are shown in the order of the sources, among the stable
  sections. Otherwise, the best matches are shown, before the recalled messages.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from skein.interface.citations import mark_of
from skein.interface.reading import BeginInput, Load, LoadInput, SectionItems, SectionReads
from skein.interface.section import SEPARATOR, Section, SectionInput, one_line
from skein.knowledge.index import ANSWERS, FoundPassage
from skein.knowledge.models.source import KnowledgeHead
from skein.knowledge.search import KnowledgeSearch, Roles
from skein.models.common.storage import Key
from skein.models.directory.role import roles_at
from skein.models.directory.user import User
from skein.models.runs.provenance import EntryProvenance, MarkedCitation
from skein.models.visibility.audience import Audience
from skein.models.visibility.provenance import TOOL_AUTHOR, Authors, Citation
from skein.ports import Metrics, TokenCounter
from skein.prompts import render
from skein.recall.query import needs_recall
from skein.recall.sections import query_of
from skein.services.common.quoting import behind_bars, quoted
from skein.services.common.words import stems_of

AUTHOR = Authors(ids=(f"{TOOL_AUTHOR}knowledge",))
MAX_READERS = 20  # people of a chat whose roles are read
SHOWN = 40  # best passages that are kept for a prompt
DAY = len("2026-12-31")
SHORTEST_TOKEN = 12  # characters; texts with more for each token of the budget cannot fit whole

FEW = 4  # stems; a text with fewer may be a follow-up, such as "And on Sundays?"
# In other languages than English, only question marks are recognised.
ASKS = re.compile(
    r"[?\uff1f\u061f]"
    r"|^(?:(?:hi|hello|hey|ok|okay|and|so|but|please|also)\b[ ,!.]*)*"
    r"(?:who|whom|whose|what|when|where"
    r"|which|why|how|is|are|am|was|were|do|does|did|can|could|may|will|would|should|has|have|any"
    r"|tell me|let me know|i (?:want|need|would like|'d like) to know|i wonder)\b",
    re.IGNORECASE | re.MULTILINE,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Knowledge(SectionItems):
    """The passages that readers may see.

    Attributes:
        best: The best matches, best first.
        whole: All passages; empty if they are certainly too long for a prompt.
        asks: Whether the message to answer asks something.
        state: `read`; `unavailable` if reading the sources failed; or "" if there are no sources
            for the agent and its readers.
        roles: The roles that all readers have.
    """

    best: tuple[FoundPassage, ...] = ()
    whole: tuple[FoundPassage, ...] = ()
    asks: bool = False
    state: str = ""
    roles: frozenset[str] = frozenset()
    cites = True
    head = KnowledgeHead.KEY

    @classmethod
    def keys(cls, read: SectionReads) -> Iterable[Key]:
        """Return the keys of the readers' records if some sources are limited to roles."""
        head, people = _head(read), read.readers.people
        matter = any(group.audience == "roles" for group in head.groups)
        if not matter or len(people) > MAX_READERS or read.readers.visitors:
            return ()
        return [User.key_of(read.run.tenant, person) for person in people]

    def authors(self) -> Iterable[Authors]:
        """Return one author for all sources: a tool, whose words are never instructions."""
        return [AUTHOR] if self.best or self.whole else []

    @property
    def missing(self) -> bool:
        """Whether the message asks something that no passage answers."""
        return self.asks and not self.matches and self.state == "read"

    @property
    def matches(self) -> bool:
        return bool(self.best) and self.best[0].score >= ANSWERS


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptKnowledge:
    """The service that finds passages for prompts.

    Args:
        search: Returns the search; agents without sources never need it.
    """

    search: Callable[[], KnowledgeSearch]
    metrics: Metrics

    def begin(self, read: SectionReads, known: BeginInput) -> Load:
        """See `SectionLoader`. Starts no calls yet: the list of indexes has not been read."""
        return self._load

    def _load(self, given: LoadInput) -> Knowledge:
        read = given.read
        if not read.may_have(Knowledge):
            return Knowledge()
        head = _head(read)
        text, query = question_of(read)
        roles = common_roles(read)
        try:
            search = self.search()
            files = search.indexes(head, read.run.agent_id, roles_of(read.readers, roles))
            best = search.best(files, query) if query else []
        except Exception as error:
            extra = {"run_id": read.run.id}
            logger.warning("failed to read the sources", extra=extra, exc_info=error)
            self.metrics.count("KnowledgeUnavailable")
            return Knowledge(asks=asks(text), state="unavailable")
        if not files and (head.groups or read.readers.visitors):
            return Knowledge()  # there are sources, but none for this agent and its readers
        everything = [each for file in files for each in file.passages]
        most = given.effective.knowledge_whole_tokens * SHORTEST_TOKEN
        fits = sum(len(each.text) for each in everything) <= most
        return Knowledge(
            best=tuple(best[:SHOWN]),
            whole=tuple(everything) if fits else (),
            asks=asks(text),
            state="read",
            roles=roles,
        )


def asks(text: str) -> bool:
    """Return whether a message asks something; "Thanks!" does not, and neither does "OK?"."""
    return ASKS.search(text.strip()) is not None and needs_recall(f"{text}?")


def question_of(read: SectionReads) -> tuple[str, str]:
    """Return the text to answer, and the text to search for.

    A short text may be a follow-up. For a short text, the text to search for therefore also
    contains the newest of people's earlier messages.
    """
    text = query_of(read)
    if not text or len(stems_of(text)) >= FEW:
        return text, text
    people = (each for each in read.messages if each.conversational and each.sender.kind == "user")
    before = [each.text for each in people if each.text not in text and not each.resets]
    return text, "\n".join([*before[-1:], text])


def _head(read: SectionReads) -> KnowledgeHead:
    return KnowledgeHead.must_read(read.found, KnowledgeHead.key_of(read.run.tenant))


def common_roles(read: SectionReads) -> frozenset[str]:
    """Return the roles that all readers of a private chat have; an empty set for other chats."""
    people = read.readers.people
    if read.readers.open or not people:
        return frozenset()
    keys = [User.key_of(read.run.tenant, person) for person in people]
    users = User.read_each(read.found, keys)
    if len(users) < len(keys):
        return frozenset()
    held = [frozenset(role.role for role in roles_at(user.roles, read.now)) for user in users]
    return frozenset.intersection(*held)


def roles_of(readers: Audience, roles: frozenset[str]) -> Roles:
    """Return the roles that all readers have; None if one of the readers is a visitor."""
    return None if readers.visitors else roles


def knowledge_whole(given: SectionInput) -> Section | None:
    """Render all passages, if they fit into the budget."""
    found = given.reading.of(Knowledge)
    section = _section(found.whole, given.reading.config.effective.knowledge_whole_tokens, given)
    if section is None or len(section.entries) < len(found.whole):
        return None
    return section if not found.missing else _marked_missing(section)


def knowledge(given: SectionInput) -> Section | None:
    """Render the best passages; if the message asks something that none answers, say so."""
    found = given.reading.of(Knowledge)
    if found.state == "unavailable" and found.asks:
        return one_line("KNOWLEDGE", render("knowledge_unavailable"), given.counter)
    if knowledge_whole(given) is not None:
        return None
    if found.missing:
        return _marked_missing(one_line("KNOWLEDGE", render("knowledge_missing"), given.counter))
    if not found.matches:
        return None
    return _section(found.best, given.reading.config.effective.knowledge_tokens, given)


def passage_lines(passage: FoundPassage, mark: str) -> str:
    """Return a passage as the model reads it: its mark and its place, then its text behind bars."""
    place = f", {quoted(passage.place)}" if passage.place else ""
    head = f"  [{mark}] {quoted(passage.name)}{place}, as of {passage.as_of[:DAY]}"
    return f"{head}\n{behind_bars(passage.text)}"


def fitting(
    passages: Iterable[FoundPassage], tokens: int, counter: TokenCounter, *, first: int = 1
) -> tuple[list[str], list[MarkedCitation]]:
    """Return as many passages as fit into a budget, as lines and as citations.

    Args:
        passages: The passages, best first.
        first: The number of the first mark.
    """
    lines, citations, left = list[str](), list[MarkedCitation](), tokens
    for passage in passages:
        mark = mark_of(first + len(lines))
        line = passage_lines(passage, mark)
        left -= counter.count(f"{line}\n")
        if left < 0:
            break
        lines.append(line)
        cited = {name: getattr(passage, name) for name in Citation.model_fields}
        citations.append(MarkedCitation(mark=mark, **cited))
    return lines, citations


def _section(passages: Sequence[FoundPassage], budget: int, given: SectionInput) -> Section | None:
    counter = given.counter
    head = f"KNOWLEDGE ({render('knowledge_note')}):"

    def within(tokens: int) -> Section:
        lines, citations = fitting(passages, tokens, counter)
        text = "\n".join([head, *lines])
        size = counter.count(text + SEPARATOR)
        plain = not given.reading.of(Knowledge).roles
        entries = tuple(
            EntryProvenance(
                section="KNOWLEDGE", kind="document", id=each.source_id, open=plain, cites=each
            )
            for each in citations
        )
        return Section("KNOWLEDGE", text, size, shorter, entries=entries)

    def shorter(tokens: int) -> Section:
        return within(tokens - counter.count(head + SEPARATOR))

    section = within(budget) if passages and budget > 0 else None
    return section if section is not None and section.entries else None


def _marked_missing(section: Section) -> Section:
    return replace(section, marks=("knowledge_missing",))
