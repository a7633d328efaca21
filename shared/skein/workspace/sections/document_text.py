"""Documents in prompts and tool results, with each line behind a bar.

A document can contain any text, including lines that look like a section of the prompt. Each line
of a document begins with a bar. Section heads, document heads and cut marks never do, so a line of
a document cannot imitate them.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from skein.interface.section import SEPARATOR, Section
from skein.models.runs.provenance import EntryProvenance
from skein.ports import TokenCounter
from skein.services.common.quoting import quoted
from skein.workspace.models.document import DEFAULT_MEDIA_TYPE, Document

DOCUMENTS_SHARE = 3  # documents take at most a third of the prompt
SHOWN_CHARACTERS = 10_000  # characters of one document, in a prompt or in one tool result
STEPS = (5_000, 2_500, 1_200, 600, 300, 100, 0)  # characters per document when room is short

PLAIN_NAME = re.compile(r"\w(?:[\w ./+@~-]*\w)?")
KEPT = frozenset("\t\u200c\u200d")  # not printable, but common in code and in some scripts
UNSEEN = "\ufffd"


class ShownDocument(NamedTuple):
    """A document in a prompt.

    Attributes:
        document: The document; None if it was deleted.
        of_chat: Whether the active chat owns the document.
    """

    name: str
    document: Document | None
    of_chat: bool = False


def document_head(document: Document) -> str:
    """Return the head line of a document: `=== name (v3) ===`, with its type unless Markdown."""
    kind = "" if document.media_type == DEFAULT_MEDIA_TYPE else f"{document.media_type}, "
    return f"=== {named(document.name)} ({kind}v{document.version}) ==="


def document_text(
    document: Document, *, characters: int = SHOWN_CHARACTERS, offset: int = 0
) -> str:
    """Render a document: its head, its lines, and how many characters are missing.

    Args:
        characters: The maximum number of characters to show.
        offset: The number of characters to skip.
    """
    head = document_head(document)
    return part_of_text(head, document.text, characters=characters, offset=offset)


def part_of_text(head: str, text: str, *, characters: int, offset: int) -> str:
    """Render a part of a text behind bars, after its head; see `document_text`.

    The part ends at a line break, so that the next part begins with a new line. If this would leave
    it with less than half of `characters`, it ends within a line instead.
    """
    whole, end = len(text), min(offset + characters, len(text))
    if end < whole:
        after_line = text.rfind("\n", offset, end) + 1
        end = after_line if after_line - offset > characters // 2 else end
    shown = text[offset:end]
    lines = [head]
    if offset:
        inside = ", within a line" if text[offset - 1 : offset] not in {"", "\n"} else ""
        lines.append(f"[from character {offset:,} on{inside}]")
    lines += [f"| {_seen(line)}".rstrip() for line in shown.splitlines()]
    if end < whole:
        lines.append(
            f"[cut: {whole - end:,} of {whole:,} characters are missing; "
            f"read on with read_document, offset {end}]"
        )
    elif not whole:
        lines.append("[empty]")
    return "\n".join(lines)


def missing_text(name: str) -> str:
    """Return the text that replaces a deleted document."""
    return f"=== {named(name)} (missing) ===\n[there is no document of this name any more]"


def named(name: str) -> str:
    """Return a plain document name unchanged, and any other name as a JSON string."""
    return name if PLAIN_NAME.fullmatch(name) else quoted(name)


def texts_of(shown: Sequence[ShownDocument], characters: int) -> list[str]:
    """Render documents with at most `characters` each; deleted ones only by name."""
    return [
        document_text(each.document, characters=characters)
        if each.document is not None
        else missing_text(each.name)
        for each in shown
    ]


def documents_section(
    name: str,
    render: Callable[[int], str],
    shown: Sequence[ShownDocument],
    limit: int,
    counter: TokenCounter,
) -> Section:
    """Create a section with documents, which are shortened if the prompt has too little room.

    Args:
        render: Renders the section with at most the given characters of each document.
        shown: The documents.
    """

    def shorter(tokens: int) -> Section:
        for characters in (SHOWN_CHARACTERS, *STEPS):
            text = render(characters)
            size = counter.count(text + SEPARATOR)
            if size <= tokens:
                break
        return Section(name, text, size, shorter, entries=entries)

    documents = (each.document for each in shown if each.document is not None)
    entries = tuple(EntryProvenance.of_item(name, "document", each.id, each) for each in documents)
    return shorter(limit)


def _seen(line: str) -> str:
    """Replace invisible characters of a line, such as marks that change the writing direction."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() or c in KEPT else UNSEEN for c in line)
