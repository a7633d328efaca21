"""How documents stand in prompts and in what tools give back: every line behind a bar.

A document may hold anything, lines that look like a section of the prompt included. Its lines
begin with a bar, which the heads of sections, the heads of documents and the marks of what is cut
do not, so nothing in it can pass for one of those.
"""

import re
from collections.abc import Callable, Sequence

from skein.agent.prompt.section import SEPARATOR, Section
from skein.agent.reading.workspace import ShownDocument
from skein.models.document import Document
from skein.ports import TokenCounter
from skein.services.common.quoting import quoted

DOCUMENTS_GIVE_WAY = 0  # first of all; see `sections`
SHOWN_CHARACTERS = 10_000  # of one document, in a prompt or in one result of a tool
STEPS = (5_000, 2_500, 1_200, 600, 300, 100, 0)  # how much of each is left where room is short

PLAIN_NAME = re.compile(r"\w(?:[\w ./+@~-]*\w)?")
KEPT = frozenset("\t\u200c\u200d")  # not printable, but part of ordinary code and scripts
UNSEEN = "\ufffd"


def document_head(document: Document) -> str:
    """The line above a document: `=== name (media type, v3) ===`."""
    return f"=== {named(document.name)} ({document.media_type}, v{document.version}) ==="


def document_text(
    document: Document, *, characters: int = SHOWN_CHARACTERS, offset: int = 0
) -> str:
    """A document as it is shown: its head, its lines, and how much of it is missing.

    Args:
        document: Which.
        characters: How many of it to show at most.
        offset: How many of it to pass over.
    """
    whole = len(document.text)
    shown = document.text[offset : offset + characters]
    end = offset + len(shown)
    lines = [document_head(document)]
    if offset:
        lines.append(f"[from character {offset:,} on]")
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
    """What stands in the place of a document that is gone."""
    return f"=== {named(name)} (missing) ===\n[there is no document of this name any more]"


def named(name: str) -> str:
    """A document's name as it is if it is plain, else as a JSON string."""
    return name if PLAIN_NAME.fullmatch(name) else quoted(name)


def global_documents(
    shown: Sequence[ShownDocument], limit: int, counter: TokenCounter
) -> Section | None:
    """The documents that are shown whatever the agent is at; None if there are none."""
    if not shown:
        return None
    own = [each for each in shown if not each.of_chat]
    of_chat = [each for each in shown if each.of_chat]

    def render(characters: int) -> str:
        parts = ["GLOBAL DOCUMENTS:", *texts_of(own, characters)]
        if of_chat:
            parts += ["  of the active chat:", *texts_of(of_chat, characters)]
        return "\n".join(parts)

    priority = DOCUMENTS_GIVE_WAY
    return documents_section("GLOBAL DOCUMENTS", render, limit, counter, priority=priority)


def texts_of(shown: Sequence[ShownDocument], characters: int) -> list[str]:
    """Documents as they are shown, each with so many characters at most; missing ones named."""
    return [
        document_text(each.document, characters=characters)
        if each.document is not None
        else missing_text(each.name)
        for each in shown
    ]


def documents_section(
    name: str, render: Callable[[int], str], limit: int, counter: TokenCounter, *, priority: int
) -> Section:
    """A section with documents in it, each of which is cut further where there is no room.

    Args:
        name: Of the section.
        render: Gives all of it with so many characters of each document.
        limit: How many tokens there are for it.
        counter: Counts exactly.
        priority: See `Section`.
    """

    def shorter(tokens: int) -> Section:
        for characters in (SHOWN_CHARACTERS, *STEPS):
            text = render(characters)
            size = counter.count(text + SEPARATOR)
            if size <= tokens:
                break
        return Section(name, text, size, priority, shorter)

    return shorter(limit)


def _seen(line: str) -> str:
    """The line without what cannot be seen, such as marks that turn the direction of writing."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() or c in KEPT else UNSEEN for c in line)
