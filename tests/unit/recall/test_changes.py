"""A newer statement follows the older one that it replaces."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from skein.models.common.base import MemberRef
from skein.recall.changes import ReadPassage, with_newer
from skein.recall.layout import RecalledEntry
from skein.recall.passages import passages_of
from skein.services.common.words import stems_of
from tests.support.builders import World, bot, person
from tests.support.recalling import indexed, recalled

HUSAM, LENA, COACH = person(), person("usr_lena", "Lena"), bot()
OLD = "I bake with flour from the mill."


def statements(*said: tuple[MemberRef, str]) -> list[ReadPassage]:
    """Return a statement for each message, oldest first."""
    world = World()
    world.agent()
    world.chat(HUSAM, LENA, COACH, respond="manual")
    world.post(OLD, HUSAM)
    indexed(world, "chat_1")
    [entry] = recalled(world, "flour from the mill").entries
    found = []
    for number, (sender, text) in enumerate(said):
        changes = {
            "seq": number + 1,
            "text": text,
            "sender": sender,
            "created_at": entry.message.created_at + timedelta(days=number),
        }
        message = entry.message.model_copy(update=changes)
        [passage] = passages_of(text)
        shown = RecalledEntry(entry.chat, message, (passage,), 0.0, entry.audience)
        found.append(ReadPassage(shown, frozenset(stems_of(text))))
    return found


def texts(shown: Sequence[RecalledEntry]) -> list[str]:
    return [entry.text for entry in shown]


def test_newer_statement_that_matches_badly_follows_the_older_one() -> None:
    old, other, new = statements(
        (HUSAM, OLD),
        (HUSAM, "The loaf was pale."),
        (HUSAM, "I gave up on the mill, all bread is of rye."),
    )
    followed = with_newer([old, other], [old, other, new])
    assert followed == [old.entry, new.entry, other.entry]


@pytest.mark.parametrize(
    "newer",
    ["It may take 3 litres.", "I moved on: two litres are enough.", "The new litres are 4."],
)
def test_newer_statement_with_another_number_or_a_word_of_change_follows(newer: str) -> None:
    old, new = statements((HUSAM, "The dough takes 2 litres."), (HUSAM, newer))
    assert with_newer([old], [old, new]) == [old.entry, new.entry]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((HUSAM, "The dough takes 2 litres."), (HUSAM, "I drank 2 litres.")),  # the same number
        ((HUSAM, OLD), (LENA, "I gave up on the mill.")),  # of somebody else
        ((HUSAM, "I gave up on the mill."), (HUSAM, OLD)),  # no change
        ((HUSAM, OLD), (HUSAM, "I gave up on the violin.")),  # of another subject
    ],
)
def test_other_statements_follow_no_older_one(
    first: tuple[MemberRef, str], second: tuple[MemberRef, str]
) -> None:
    old, new = statements(first, second)
    assert texts(with_newer([old], [old, new])) == [first[1]]
