"""The section RECALLED: old messages that match what is to be answered."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from skein.agent.prompt.names import Names
from skein.agent.prompt.provenance import of_recalled
from skein.agent.prompt.section import SEPARATOR, Section
from skein.ports import TokenCounter
from skein.prompts import render
from skein.services.recall.layout import RecalledEntry, fitting, recalled_lines

RECALLED_GIVES_WAY = 1  # see `sections` for the order in which sections are shortened


def recalled(
    entries: Sequence[RecalledEntry],
    names: Names,
    here: str | None,
    zone: ZoneInfo,
    limit: int,
    counter: TokenCounter,
) -> Section | None:
    """Render the recalled messages by chat and day, oldest first; None if none fit.

    Args:
        entries: The messages, best first.
        here: The id of the active chat.
        limit: The token limit of the messages with their headings.
    """
    head = f"RECALLED ({render('recalled_note')}):"

    def within(tokens: int) -> Section:
        kept, _ = fitting(entries, tokens, counter, here=here, zone=zone, named=names.__getitem__)
        lines = recalled_lines(kept, here, zone, names.__getitem__)
        text = "\n".join([head, *lines])
        size = counter.count(text + SEPARATOR)
        shown = sorted(kept, key=lambda entry: (entry.message.created_at, entry.message.seq))
        found = tuple(of_recalled("RECALLED", entry) for entry in shown)
        return Section("RECALLED", text, size, RECALLED_GIVES_WAY, shorter, entries=found)

    def shorter(tokens: int) -> Section:
        return within(tokens - counter.count(head + SEPARATOR))

    whole = within(limit)
    return whole if whole.text != head else None
