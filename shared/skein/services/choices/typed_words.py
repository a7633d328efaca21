"""Recognize messages that say only yes or only no, in the languages of the opt-out keywords.

The lists of words are fixed. No word means yes in one language and no in another. `typed_answers`
decides whether the message answers a question.
"""

import unicodedata
from typing import Literal

from skein.services.common.words import words_of

MAX_TYPED = 60  # characters; longer messages say more than yes or no
YES_WORDS = frozenset({"yes", "yeah", "yep", "yup", "y", "si", "sí", "oui", "ja", "sim"})
NO_WORDS = frozenset({"no", "nope", "nah", "n", "non", "nein", "nee", "não", "nao"})
# Words that may accompany a yes or a no without changing it.
POLITE = (
    *("please", "pls", "plz", "thanks", "thank you", "thx"),
    *("por favor", "gracias", "muchas gracias", "obrigado", "obrigada"),
    *("s il vous plait", "s il vous plaît", "s il te plait", "s il te plaît", "svp", "stp"),
    *("merci", "bitte", "danke", "vielen dank", "per favore", "grazie"),
    *("alstublieft", "alsjeblieft", "aub", "graag", "bedankt", "dank je", "dank u"),
)
_LONGEST_FIRST = sorted((tuple(phrase.split()) for phrase in POLITE), key=len, reverse=True)

TypedAnswer = Literal["yes", "no"]


def typed_answer(text: str) -> TypedAnswer | None:
    """Return whether a message says only yes or only no; None if it contains anything else.

    Case, punctuation, repetitions and polite words are ignored: "Yes, please!" is a yes. "Yes and
    no", "no problem" and "yes, but later" are ordinary messages. A message with an emoji or a
    question mark is an ordinary message, too.
    """
    if len(text) > MAX_TYPED or not _plain(text):
        return None
    said = _without_polite(tuple(words_of(text)))
    if not said:
        return None
    if YES_WORDS.issuperset(said):
        return "yes"
    return "no" if NO_WORDS.issuperset(said) else None


def _plain(text: str) -> bool:
    """Return whether a text has only letters, spaces and the punctuation of a statement."""
    composed = unicodedata.normalize("NFKC", text)
    return all(each.isalpha() or each.isspace() or each in ".,!;:'\u2019-()\"" for each in composed)


def _without_polite(words: tuple[str, ...]) -> list[str]:
    kept: list[str] = []
    while words:
        polite = next((each for each in _LONGEST_FIRST if words[: len(each)] == each), None)
        if polite is None:
            kept.append(words[0])
        words = words[len(polite or words[:1]) :]
    return kept
