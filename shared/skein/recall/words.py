"""The words of a text by which recall finds it: stems and numbers, without fillers."""

from skein.services.common.words import fillers, stem_of, words_of


def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words, and its numbers, in order and without fillers.

    English words have stems by Porter's algorithm. Words of other languages stay as they are. In
    scripts without spaces, each character and each pair of adjacent characters is a word.
    """
    left_out = fillers()
    return tuple(stem_of(word) for word in words_of(text) if word not in left_out)
