"""The lines in which recalled messages are shown, and how many fit into a budget."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from skein.models.chats.chat import Chat, Message
from skein.models.chats.names import plain_name
from skein.models.common.audience import Audience
from skein.models.common.base import NamedMember
from skein.models.common.provenance import Authors
from skein.ports import TokenCounter
from skein.recall.words import stems_of
from skein.services.common.quoting import quoted
from skein.services.common.text_cuts import cut_position

MAX_CHARACTERS = 700  # of a message; a longer one is cut around its match
MIN_PART = 40  # characters between two possible beginnings of a part

Named = Callable[[NamedMember], str]
"""Names the sender of a message."""


@dataclass(frozen=True, slots=True)
class RecalledEntry:
    """A message that recall found and that the readers may see.

    Attributes:
        chat: The chat, with a title that the readers may see.
        message: The message, with the current name of its sender.
        text: The text to show: the whole message, or the part that matches best.
        score: How well the message matches; comparable within one recall only.
        audience: The people who were present for the message.
    """

    chat: Chat
    message: Message
    text: str
    score: float
    audience: Audience

    @property
    def words(self) -> Authors:
        """The people whose words the message and the chat's title may hold, by digest."""
        return self.message.words.joined(self.chat.title_authors)


def excerpt(text: str, stems: frozenset[str]) -> str:
    """Return a text, or for a long one the part that has most of the stems."""
    if len(text) <= MAX_CHARACTERS:
        return text
    starts = [0]
    while len(text) - starts[-1] > MAX_CHARACTERS:
        starts.append(starts[-1] + max(cut_position(text[starts[-1] :], MAX_CHARACTERS), MIN_PART))

    def part(start: int) -> str:
        rest = text[start:]
        if len(rest) <= MAX_CHARACTERS:
            return rest
        return rest[: cut_position(rest, MAX_CHARACTERS)]

    best = max(starts, key=lambda start: len(stems & set(stems_of(part(start)))))
    shown = part(best).strip()
    before = "[...] " if best else ""
    after = " [...]" if best + len(part(best)) < len(text) else ""
    return f"{before}{shown}{after}"


def recalled_lines(
    entries: Iterable[RecalledEntry], here: str | None, zone: ZoneInfo, named: Named
) -> list[str]:
    """Return entries as lines, grouped by chat and day, oldest first.

    Args:
        here: The id of the active chat, whose title is not repeated.
        named: Names the sender of a message.
    """
    ordered = sorted(entries, key=lambda entry: entry.message.seq)
    groups: dict[tuple[str, str], list[RecalledEntry]] = {}
    for entry in ordered:
        groups.setdefault(_group_of(entry, zone), []).append(entry)
    lines: list[str] = []
    for group in sorted(groups.values(), key=_begin_of):
        lines.append(_heading(group[0], here, zone))
        lines += [_line(entry, named) for entry in group]
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

    An entry for which there is no room is skipped, since a shorter one may still fit.

    Args:
        entries: The entries, best first.
        tokens: The budget.
        here: The id of the active chat.
        named: Names the sender of a message.
    """
    kept: list[RecalledEntry] = []
    groups: set[tuple[str, str]] = set()
    used = 0
    for entry in entries:
        group = _group_of(entry, zone)
        cost = counter.count(_line(entry, named) + "\n")
        if group not in groups:
            cost += counter.count(_heading(entry, here, zone) + "\n")
        if used + cost <= tokens:
            used += cost
            groups.add(group)
            kept.append(entry)
    return kept, used


def _begin_of(group: Sequence[RecalledEntry]) -> tuple[datetime, str]:
    return group[0].message.created_at, group[0].chat.id


def _group_of(entry: RecalledEntry, zone: ZoneInfo) -> tuple[str, str]:
    return entry.chat.id, _day_of(entry, zone)


def _day_of(entry: RecalledEntry, zone: ZoneInfo) -> str:
    return f"{entry.message.created_at.astimezone(zone):%Y-%m-%d}"


def _heading(entry: RecalledEntry, here: str | None, zone: ZoneInfo) -> str:
    day = _day_of(entry, zone)
    if entry.chat.id == here:
        return f"  -- {day} --"
    return f"  -- {day}, {quoted(entry.chat.display_title)} --"


def _line(entry: RecalledEntry, named: Named) -> str:
    return f"  [msg:{entry.message.seq}] {named(entry.message.sender)}: {quoted(entry.text)}"
