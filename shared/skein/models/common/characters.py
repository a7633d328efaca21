"""Invisible characters, and characters that change how the text around them is displayed."""

import re
import unicodedata

# Printable characters of Unicode that are invisible (Default_Ignorable_Code_Point), and a blank.
BLANKS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)


def is_visible(text: str) -> bool:
    """Return whether each character of a text is visible or a plain space."""
    return text.isprintable() and BLANKS.search(text) is None


def on_one_line(text: str) -> str:
    """Return `text` on one line, with each run of white space as one space.

    Invisible marks, such as those that change the direction of writing, are removed.
    """
    return " ".join("".join(map(_shown, text)).split())


def _shown(character: str) -> str:
    """Return the character, a space for white space and controls, or "" if invisible."""
    if is_visible(character):
        return character
    return " " if character.isspace() or unicodedata.category(character) == "Cc" else ""
