"""Whether two memories say the same: in the same words, but for their looks.

Nothing fuzzier: "30 guests" and "31 guests" are as near to each other as any two sentences, and are
two facts.
"""

import unicodedata

# Punctuation that says something: C#, R&D, 10 %, @ann, 3*4, and/or, "does she?"
_MEANT = frozenset("#%&@*/\\?\u061f\u00a7\u2030")
_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")


def normalised(text: str) -> str:
    """The words, numbers and symbols of a text, without case, punctuation and width of spaces.

    A text of nothing but punctuation stays what it is.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    seen = [c for c in folded.translate(_APOSTROPHES) if unicodedata.category(c) != "Cf"]
    around = ["", *seen, ""]
    plain = "".join(
        " " if _is_looks(before, character, after) else character
        for before, character, after in zip(around, seen, around[2:], strict=False)
    )
    return " ".join(plain.split()) or " ".join("".join(seen).split())


def _is_looks(before: str, character: str, after: str) -> bool:
    """Whether a character only sets words apart, going by its neighbours: not in -5, 1.5, A-."""
    category = unicodedata.category(character)
    if not category.startswith("P") or character in _MEANT or after.isdigit():
        return False
    if character == "'":
        return not (before.isalnum() and after.isalnum())
    if category == "Pd":
        return not before.isalnum() or after.isalnum()
    return True
