"""Meetings tell a group only a time that suits all, and outreach stays in each person's chat."""

from collections.abc import Iterator
from typing import Any

import pytest

from skein.errands import meeting_work
from skein.errands.models.errand import Errand
from skein.models.common.storage import Write
from skein.services.visibility import disclosure
from tests.attacks.cast import ALICES, BOBS_PHONE, PAIR, words
from tests.attacks.known_errands import ERRANDS
from tests.attacks.sampling import some_of
from tests.attacks.search import leak_in, search
from tests.attacks.stage import Stage
from tests.stories.searches import SEARCHES


@pytest.mark.parametrize("name", some_of(ERRANDS))
def test_known_errand_story_leaks_nothing_to_outsiders(name: str) -> None:
    search(ERRANDS[name])


def test_errand_story_proposes_a_time_to_the_group() -> None:
    stage = Stage(words=words())
    stage.play(ERRANDS["time_that_suits_all"])
    proposal, end = (each.text for each in stage.messages(PAIR.id) if each.report_of)
    assert proposal.startswith("Proposal for ")
    assert end.endswith("Everybody has confirmed.")
    assert [len(stage.messages(chat.id)) for chat in (ALICES, BOBS_PHONE)] == [4, 4]


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(4))
def test_new_errand_stories_leak_nothing_to_outsiders(part: int, new_stories: str) -> None:
    SEARCHES["errands"].play(f"{new_stories} {part}", 200)


_created = Errand.created


def _listed(errand: Errand, due_at: Any) -> Iterator[Write]:
    """The writes of a new errand that is listed for the one who asks, also one for times."""
    yield from _created(errand, due_at)
    if errand.meeting is not None:
        yield errand._link("asker", errand.asked_by)


def _yes(*_: Any, **__: Any) -> bool:
    return True


FIXES: dict[str, tuple[Any, str, Any, str]] = {
    "times are listed for nobody": (Errand, "created", _listed, "time_that_suits_all"),
    "a topic stays with those who were present": (
        meeting_work,
        "made_for_all",
        _yes,
        "topic_after_someone_joined",
    ),
    "what an outreach is about stays in its chat": (
        disclosure,
        "may_affect",
        _yes,
        "outreach_with_the_secret",
    ),
    "what people answer to an outreach stays in its chat": (
        disclosure,
        "may_affect",
        _yes,
        "answer_to_outreach",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fix", FIXES)
def test_search_without_check_of_errands_finds_the_known_leak(
    fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, without, story = FIXES[fix]
    monkeypatch.setattr(owner, name, without)
    assert leak_in(ERRANDS[story]) is not None
