"""Stories of former defects keep all promises; each guard that ended one has a story here."""

import pytest

from tests.attacks.known import KNOWN as LEAKS
from tests.attacks.known_codes import ENCODED
from tests.attacks.sampling import some_of
from tests.attacks.search import search
from tests.attacks.steps import Story
from tests.stories.judge import Verdict, judge
from tests.stories.known import KNOWN, OPEN
from tests.stories.town import Town


@pytest.mark.parametrize("name", some_of(KNOWN))
def test_known_story_ends_well(name: str) -> None:
    town, known = Town(), KNOWN[name]
    town.play(known.story)
    judge(town)
    assert known.holds(town)


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(
            story, id=name, marks=pytest.mark.xfail(strict=True, reason=why, raises=Verdict)
        )
        for name, (story, why) in OPEN.items()
    ],
)
def test_open_defect_keeps_all_promises(story: Story) -> None:
    town = Town()
    town.play(story)
    judge(town)


@pytest.mark.parametrize(
    "name",
    some_of(
        [
            "question_shows_other_words_than_are_sent",
            "forget_with_full_places",
            "trial_before_an_erasure",
            "trial_of_a_private_run",
        ]
    ),
)
def test_known_leak_is_closed(name: str) -> None:
    search((LEAKS | ENCODED)[name])
