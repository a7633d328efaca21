"""Track what a prompt already says, so that no other section repeats it.

A section leaves a text out if an earlier text was made from the same messages and contains all
words and numbers of the text. The section also leaves the text out, without a comparison of words,
if the prompt shows the messages themselves.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from skein.models.visibility.provenance import Span
from skein.services.common.words import stem_of, stems_of

_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


class Telling(NamedTuple):
    """A part of a prompt, with the messages from which it was made.

    Attributes:
        spans: The messages.
        text: The words of the part; None if the part shows the messages themselves.
        of_some: Whether it is enough that this part and a text have some messages in common.
            Otherwise, the part repeats a text only if it was made from all messages of the text.
            For example, a plan is made from a part of a conversation, and may repeat a memory of
            the whole conversation.
    """

    spans: tuple[Span, ...]
    text: str | None = None
    of_some: bool = False

    def repeats(self, spans: Sequence[Span], text: str) -> bool:
        """Return whether this part already says everything in `text`.

        Args:
            spans: The messages from which the text was made.
        """
        return self._covers(spans) and (self.text is None or says_all(self.text, text))

    def _covers(self, spans: Sequence[Span]) -> bool:
        if self.of_some:
            return any(own.meets(span) for own in self.spans for span in spans)
        return bool(spans) and all(any(own.holds(span) for own in self.spans) for span in spans)


class Told:
    """Everything that a prompt says so far, while its sections are built one after another.

    Args:
        first: A function that returns what other parts of the prompt say. It is called when its
            result is first needed.

    Attributes:
        relied_on: Whether a section left something out because the prompt already says it.
    """

    def __init__(self, first: Callable[[], Iterable[Telling]]) -> None:
        self._by_chat: dict[str, list[Telling]] = {}
        self._first: Callable[[], Iterable[Telling]] | None = first
        self.relied_on = False

    def add(self, tellings: Iterable[Telling]) -> None:
        """Add what a section says."""
        for telling in tellings:
            for chat_id in {span.chat_id for span in telling.spans}:
                self._by_chat.setdefault(chat_id, []).append(telling)

    def repeats(self, spans: Sequence[Span], text: str) -> bool:
        """Return whether the prompt already says everything in `text`.

        Args:
            spans: The messages from which the text was made.
        """
        if self._first is not None:
            self.add(self._first())
            self._first = None
        known = self._by_chat.get(spans[0].chat_id, ()) if spans else ()
        found = any(telling.repeats(spans, text) for telling in known)
        self.relied_on |= found
        return found


def says_all(text: str, words: str) -> bool:
    """Return whether `text` contains all words and numbers of `words`.

    A date in `text` counts as every relative day in `words`, such as "tomorrow".
    """
    wanted = set(stems_of(words))
    if _DATE.search(text):
        wanted -= _days()
    return wanted <= set(stems_of(text))


@cache
def _days() -> frozenset[str]:
    days = ("today", "tomorrow", "yesterday", "tonight", "now", "just")
    return frozenset(stem_of(word) for word in days)
