"""Tell questions from other messages, and find what a question is about."""

import re

from skein.interface.reading import SectionReads
from skein.recall.query import needs_recall
from skein.recall.sections import query_of
from skein.services.common.words import stems_of

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


def asks(text: str) -> bool:
    """Return whether a message asks something; "Thanks!" does not, and neither does "OK?"."""
    return ASKS.search(text.strip()) is not None and needs_recall(f"{text}?")


def question_of(read: SectionReads) -> tuple[str, str]:
    """Return the text to answer, and the text to search by.

    A short text may be a follow-up, which is searched with the person's message before it.
    """
    text = query_of(read)
    if not text or len(stems_of(text)) >= FEW:
        return text, text
    people = (each for each in read.messages if each.conversational and each.sender.kind == "user")
    before = [each.text for each in people if each.text not in text and not each.resets]
    return text, "\n".join([*before[-1:], text])
