"""Extract the part of a model's text that people may read, without silence tokens and labels.

A prompt asks for `[silence]` if nothing needs to be said. It also writes a label before each
message (`timeline.py`): `[Ann (agent)]` in a history as roles, `[msg:3 14:50:00] Ann:` in a
timeline. Models vary the token and copy the labels. Both are removed here before a text is posted.
"""

import json
import re
from collections.abc import Iterable
from functools import lru_cache

NO_REPLY = "[silence]"
INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufe0e\ufe0f\ufeff"
WRAPPERS = "*_`~\"'\u201c\u201d\u2018\u2019\u201e\u00ab\u00bb"  # Markdown and quotes
PUNCTUATION = ".,;:!?\u2026\u3002"
MAX_LABELS = 4  # labels that are removed from one text

_GAP = rf"[\s{INVISIBLE}]{{0,8}}"
_WORD = rf"[{INVISIBLE}]{{0,8}}".join(NO_REPLY.strip("[]")) + rf"{_GAP}[{PUNCTUATION}]{{0,3}}{_GAP}"
TOKEN = re.compile(rf"[\[\uff3b\u3010]{_GAP}{_WORD}[\]\uff3d\u3011]", re.IGNORECASE)
ROUND_TOKEN = re.compile(rf"[({{<\uff08]{_GAP}{_WORD}[)}}>\uff09]", re.IGNORECASE)
AROUND = f"{INVISIBLE}{WRAPPERS}{PUNCTUATION}#>|-\u2013\u2014"
_TIME = r"(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?(?:Z| [A-Z]{2,5}| [+-]\d{2,4})?"
_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
_STATUS = rf"(?:open until {_TIME}|answered(?: {_QUOTED})? in msg:\d+|expired)"
_ASKED = rf"question to [^()\[\]\n,:]{{1,200}}(?: \(\d+\))?, {_STATUS}"
_DETAIL = rf"(?:msg:\d+|{_TIME}|reply to msg:\d+|waited for a reply|{_ASKED})"
_DETAILS = rf"{_DETAIL}(?:[ ,]{{1,2}}{_DETAIL})*"
_KIND = r" \((?:human|agent)(?:, ?(?:you|id:? ?[^()\[\]]{1,200}))?\)"
_ORIGIN = rf"\[sent because [^\[\]\n]{{1,200}} asked {_QUOTED} in {_QUOTED}\]"
_FLAGS = re.compile(r"\s*(?:\[(?:SEEN|NEW)\])?\s*(?:\u2190 [A-Z]+(?: \(timeout\))?)?\s*")


def is_silence(text: str) -> bool:
    """Return whether a text consists only of the silence token.

    Case, white space, invisible characters, punctuation, quotes, Markdown and other kinds of
    brackets are ignored. The word `silence` without brackets counts as text, because it can be an
    answer.
    """
    rest, found = TOKEN.subn(" ", text)
    if not found:
        rest, found = ROUND_TOKEN.subn(" ", text)
    return bool(found) and not bare(rest)


def spoken(text: str, names: Iterable[str]) -> str:
    """Return the part of a text that people may read; '' if nothing is left.

    Labels are removed at the start of the text. The silence token is removed at the start, at the
    end and on lines of its own, but not within a sentence.

    Args:
        text: The text of the model.
        names: The names in the prompt; see `participants.speakers_in`.
    """
    return without_silence(without_labels(text.strip(), names))


def without_silence(text: str) -> str:
    """Remove silence tokens from a text, except within a sentence; return '' if nothing is left."""
    if is_silence(text):
        return ""
    lines = text.splitlines(keepends=True)
    text = "".join(line for line in lines if not (TOKEN.search(line) and is_silence(line)))
    text = _without_trailing_token(_without_leading_token(text.strip()))
    return text if text.strip(f"{INVISIBLE} \t\r\n") else ""


def without_labels(text: str, names: Iterable[str]) -> str:
    """Remove labels in the format of prompts from the start of a text.

    Args:
        names: The names in the prompt. Other names in brackets are kept.
    """
    pattern = labels_of(frozenset(names))
    for _ in range(MAX_LABELS):
        start = text.lstrip(f"{INVISIBLE} \t\r\n")
        found = pattern.match(start)
        if found is None:
            break
        text = start[found.end() :].lstrip()
        if found["entry"]:
            text = _unquoted(text)
    return text


@lru_cache(maxsize=64)
def labels_of(names: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern that matches a label with one of these names at the start of a text."""
    return re.compile(label_pattern(rf"(?:{'|'.join(label_forms(names))})"))


def label_pattern(form: str) -> str:
    """Return the pattern of one form of label, which may be within Markdown."""
    return rf"(?P<wrap>[*_`]{{0,3}}){form}(?P=wrap)"


def label_forms(names: frozenset[str]) -> tuple[str, ...]:
    """Return the forms of labels with one of these names. The first form that matches is used."""
    by_length = sorted(names, key=lambda name: (-len(name), name))
    name = rf"(?:{'|'.join(map(re.escape, by_length))})(?: \(\d+\))?"
    marks = rf"(?:\[{_DETAILS}\] ?)"
    colon = rf"(?: \({_DETAILS}\))?:"
    entry = rf"(?P<entry>{marks}+{name}(?:{_KIND})?{colon}|{name}{_KIND}{colon})"
    bracket = (
        rf"\[(?:(?:{_DETAILS}[ ,]{{1,2}})?{name}{_KIND}(?:, {_DETAILS})?"
        rf"|{_DETAILS}[ ,]{{1,2}}{name})\]:?"
    )
    numbers = rf"\[msg:\d+(?:[ ,]{{1,2}}{_DETAIL})*\]"
    return entry, bracket, numbers, rf"\[{_ASKED}\]", _ORIGIN


def _unquoted(text: str) -> str:
    """Return the text of a copied timeline entry without its quotes and marks."""
    if not text.startswith('"'):
        return text
    try:
        first, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return text
    return first if _FLAGS.fullmatch(text[end:]) else text


def _without_leading_token(text: str) -> str:
    found = TOKEN.search(text)
    if found is None or bare(text[: found.start()]):
        return text
    rest = text[found.end() :]
    for wrapper in reversed(text[: found.start()].strip()):
        rest = rest.removeprefix(wrapper)
    return rest.lstrip(PUNCTUATION + INVISIBLE).lstrip()


def _without_trailing_token(text: str) -> str:
    found = None
    for found in TOKEN.finditer(text):  # noqa: B007 the last one counts
        pass
    if found is None or bare(text[found.end() :]):
        return text
    head = text[: found.start()].rstrip()
    for wrapper in text[found.end() :].strip():
        head = head.removesuffix(wrapper) if wrapper in WRAPPERS else head
    return head.rstrip()


def bare(text: str) -> str:
    """Return a text without white space and without the characters that may surround a token."""
    return "".join(text.split()).strip(AROUND)
