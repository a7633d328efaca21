"""SMS segments: count the segments of a text, and split a long text into parts.

An SMS is sent in GSM-7 if GSM-7 has all of its characters, else in UCS-2. A single segment holds
160 septets or 70 UTF-16 code units. Each of several joined segments holds 153 or 67
(https://www.twilio.com/docs/glossary/what-sms-character-limit).
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from gsm0338 import Codec

from skein.channels.text_cuts import cut_position

# Twilio refuses bodies over 1,600 characters (error 21617). Some characters count as several, but
# Twilio does not say how many. Here each character counts as its highest cost in either encoding.
MAX_PART_UNITS = 1_599

GSM_SINGLE, GSM_JOINED = 160, 153
UCS_SINGLE, UCS_JOINED = 70, 67

ESCAPE = "\x1b"
LAST_OF_BASIC_PLANE = "\uffff"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")

_gsm = Codec()


def segment_count(text: str) -> int:
    """Count the segments that `text` is billed as; no character spans two segments."""
    septets = _septets(text)
    if septets is not None:
        return _packed(septets, GSM_SINGLE, GSM_JOINED)
    return _packed([_utf16_units(character) for character in text], UCS_SINGLE, UCS_JOINED)


def split_text(text: str, limit: int = MAX_PART_UNITS) -> tuple[str, ...]:
    """Split `text` into parts, each of which fits in one SMS, in order.

    A cut is made after a sentence if possible (`cut_position`). White space at cuts and at both
    ends is removed. So are control characters, which no phone can show. All other text is kept.

    Args:
        limit: The maximum number of units of a part, at least 2. A UTF-16 code unit counts as one
            unit, and a character of GSM-7's extension table as two.

    Returns:
        The parts. Empty if `text` is only white space and control characters.
    """
    parts = []
    rest = clean(text)
    while rest:
        fitting = _fitting(rest, limit)
        end = len(rest) if fitting == len(rest) else cut_position(rest, fitting)
        parts.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return tuple(parts)


def clean(text: str) -> str:
    """Return a text in the form that is sent: without control characters and outer white space."""
    return CONTROL.sub("", text).strip()


def total_segments(text: str) -> int:
    """Count the segments of all parts into which `text` is split."""
    return sum(map(segment_count, split_text(text)))


def fitting_length(text: str, segments: int, ending: str) -> int:
    """Return where to cut a clean text, so that it fits in `segments` with `ending` as last line.

    The cut is after a sentence if possible (`cut_position`).

    Args:
        text: The text, see `clean`.
        segments: The maximum number of segments, enough for the last line and a few words.
        ending: The last line of a text that is cut.

    Returns:
        The position of the cut, or the length of the text if it fits as a whole, without `ending`.
    """
    if total_segments(text) <= segments:
        return len(text)
    fits, over = 1, min(len(text), segments * GSM_SINGLE)
    while over - fits > 1:
        middle = (fits + over) // 2
        fitting = total_segments(f"{text[:middle]}\n{ending}") <= segments
        fits, over = (middle, over) if fitting else (fits, middle)
    return cut_position(text, fits)


def _septets(text: str) -> list[int] | None:
    """Return how many septets each character takes in GSM-7; None if GSM-7 lacks a character."""
    if ESCAPE in text:
        return None
    try:
        return [len(_gsm.encode(character)[0]) for character in text]
    except UnicodeEncodeError:
        return None


def _utf16_units(character: str) -> int:
    return 2 if character > LAST_OF_BASIC_PLANE else 1


@lru_cache(maxsize=1024)
def _most_units(character: str) -> int:
    return max(_utf16_units(character), *(_septets(character) or [1]))


def _packed(sizes: Iterable[int], single: int, joined: int) -> int:
    sizes = list(sizes)
    if sum(sizes) <= single:
        return 1
    segments, free = 0, 0
    for size in sizes:
        if size > free:
            segments, free = segments + 1, joined
        free -= size
    return segments


def _fitting(text: str, limit: int) -> int:
    """Count the characters from the start of `text` that fit in `limit` units."""
    used = 0
    for position, character in enumerate(text):
        used += _most_units(character)
        if used > limit:
            return position
    return len(text)
