"""The lines in which recalled messages are shown, and how many fit into a budget."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from skein.models.chats.chat import Chat, Message
from skein.models.chats.names import plain_name
from skein.models.common.base import NamedMember
from skein.models.visibility.audience import Audience
from skein.models.visibility.provenance import Authors
from skein.models.visibility.sharing_rules import SharingRule
from skein.ports import TokenCounter
from skein.recall.models.own_words import OwnWordsMemory
from skein.recall.passages import Passage, joined_parts
from skein.recall.ranking import MessageRef
from skein.services.common.quoting import quoted

Named = Callable[[NamedMember], str]
"""Names the sender of a message."""


@dataclass(frozen=True, slots=True)
class RecalledEntry:
    """A message or a memory that recall found and that the readers may see.

    Attributes:
        chat: The chat, with a title that the readers may see.
        message: The message, with the current name of its sender. For a memory, its last source
            message.
        parts: The passages to show.
        score: How well the best passage matches; comparable within one recall only.
        audience: The people who may know the message.
        rules: The sharing rules that let the readers see the entry; empty if the readers were
            present.
        author_version: The version of the author's sharing choices, read before the chat; 0 if no
            rule was needed.
        memory: The memory that is shown instead of its source messages; None for a message.
    """

    chat: Chat
    message: Message
    parts: tuple[Passage, ...]
    score: float
    audience: Audience
    rules: tuple[SharingRule, ...] = ()
    author_version: int = 0
    memory: OwnWordsMemory | None = None

    @property
    def ref(self) -> MessageRef:
        """The reference to what is shown; see `MessageRef`."""
        return self.memory.id if self.memory else self.message.chat_id, self.message.seq

    @property
    def seqs(self) -> tuple[int, ...]:
        """The numbers of the messages whose words are shown."""
        return self.memory.seqs if self.memory else (self.message.seq,)

    @property
    def full_text(self) -> str:
        """The whole text of the message or the memory."""
        return self.memory.text if self.memory else self.message.full_text

    @property
    def text(self) -> str:
        """The text to show, with marks where parts are left out."""
        return joined_parts(self.full_text, self.parts)

    @property
    def words(self) -> Authors:
        """The people whose words the message and the chat's title can contain, by digest."""
        if self.rules:
            return self.message.words.of_rule_words  # the chat's title is not shown
        return self.message.words.joined(self.chat.title_authors)


def recalled_lines(
    entries: Iterable[RecalledEntry], here: str | None, zone: ZoneInfo, named: Named
) -> list[str]:
    """Return entries as lines, grouped by chat and day, oldest first.

    Args:
        here: The id of the active chat, whose title is not repeated.
        named: A function that returns the name of a message's sender.
    """
    ordered = sorted(entries, key=lambda entry: entry.message.seq)
    groups: dict[tuple[str, str], list[RecalledEntry]] = {}
    for entry in ordered:
        groups.setdefault(_group_of(entry, zone), []).append(entry)
    lines: list[str] = []
    for group in sorted(groups.values(), key=_begin_of):
        lines += filter(None, [_heading(group[0], here, zone)])
        lines += [_line(entry, zone, named) for entry in group]
    return lines


def fitting(
    entries: Sequence[RecalledEntry],
    tokens: int,
    counter: TokenCounter,
    *,
    here: str | None,
    zone: ZoneInfo,
    named: Named = plain_name,
) -> tuple[list[RecalledEntry], int]:
    """Return the best entries that fit into a budget, and their tokens with headings.

    Passages of the same message become one entry. An entry that does not fit is skipped, because a
    shorter entry may still fit.

    Args:
        entries: The entries, best first.
        tokens: The token budget.
        here: The id of the active chat.
    """
    kept: dict[MessageRef, RecalledEntry] = {}
    costs: dict[MessageRef, int] = {}
    groups: set[tuple[str, str]] = set()
    used = 0
    for entry in entries:
        group, message = _group_of(entry, zone), entry.ref
        other = kept.get(message)
        both = replace(other, parts=(*other.parts, *entry.parts)) if other else entry
        cost = counter.count(_line(both, zone, named) + "\n")
        more = cost - costs.get(message, 0)
        heading = _heading(entry, here, zone)
        if group not in groups and heading:
            more += counter.count(heading + "\n")
        if used + more <= tokens:
            used += more
            groups.add(group)
            kept[message], costs[message] = both, cost
    return list(kept.values()), used


def _begin_of(group: Sequence[RecalledEntry]) -> tuple[datetime, str]:
    return group[0].message.created_at, group[0].chat.id


def _group_of(entry: RecalledEntry, zone: ZoneInfo) -> tuple[str, str]:
    return entry.chat.id, _day_of(entry, zone)


def _day_of(entry: RecalledEntry, zone: ZoneInfo) -> str:
    return f"{entry.message.created_at.astimezone(zone):%Y-%m-%d}"


def _heading(entry: RecalledEntry, here: str | None, zone: ZoneInfo) -> str:
    """Return the line above the entries of a chat and day; '' if a sharing rule shows the words."""
    if entry.rules:
        return ""
    day = _day_of(entry, zone)
    if entry.chat.id == here:
        return f"  -- {day} --"
    return f"  -- {day}, {quoted(entry.chat.display_title)} --"


def _line(entry: RecalledEntry, zone: ZoneInfo, named: Named) -> str:
    """Return an entry as a line; if a sharing rule shows the words, the line omits their chat."""
    sender, text = named(entry.message.sender), quoted(entry.text)
    if not entry.rules:
        return f"  [msg:{entry.message.seq}] {sender}: {text}"
    whom = ", ".join(dict.fromkeys(rule.to.role or "this person" for rule in entry.rules))
    noted = ", as noted" if entry.memory else ""
    return f"  {_day_of(entry, zone)}, {sender}{noted} (may be told to: {whom}): {text}"
