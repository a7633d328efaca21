"""Audiences: who may be shown content, and which changes it may cause."""

import pytest

from skein.models.visibility.audience import NOBODY, OPEN, PUBLIC, Audience, may_show


def of(*people: str) -> Audience:
    return Audience(open=False, people=people)


ANN, BEN, BOTH = of("ann"), of("ben"), of("ann", "ben")
VISITOR, OTHER, WITH_ANN = of("vis_1"), of("vis_2"), of("ann", "vis_1")


@pytest.mark.parametrize(
    ("source", "destination", "shown"),
    [
        (OPEN, OPEN, True),
        (OPEN, ANN, True),
        (OPEN, NOBODY, True),
        (ANN, OPEN, False),
        (ANN, ANN, True),
        (ANN, BEN, False),
        (ANN, BOTH, False),
        (BOTH, ANN, True),
        (BOTH, BOTH, True),
        (ANN, NOBODY, False),
        (NOBODY, NOBODY, False),
        (NOBODY, ANN, False),
        (NOBODY, OPEN, False),
        (OPEN, VISITOR, False),
        (OPEN, WITH_ANN, False),
        (OPEN, PUBLIC, False),
        (PUBLIC, VISITOR, True),
        (PUBLIC, ANN, True),
        (PUBLIC, OPEN, True),
        (PUBLIC, PUBLIC, True),
        (VISITOR, VISITOR, True),
        (VISITOR, OTHER, False),
        (VISITOR, ANN, False),
        (VISITOR, OPEN, False),
        (VISITOR, PUBLIC, False),
        (ANN, VISITOR, False),
    ],
)
def test_content_is_shown_to_readers_who_were_all_present(
    source: Audience, destination: Audience, shown: bool
) -> None:
    assert may_show(source, destination) is shown


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (OPEN, OPEN, OPEN),
        (OPEN, ANN, ANN),
        (ANN, OPEN, ANN),
        (ANN, BOTH, ANN),
        (ANN, BEN, NOBODY),
        (BOTH, NOBODY, NOBODY),
        (OPEN, PUBLIC, OPEN),
        (PUBLIC, ANN, ANN),
        (PUBLIC, VISITOR, VISITOR),
        (OPEN, VISITOR, NOBODY),
        (OPEN, WITH_ANN, ANN),
    ],
)
def test_narrowed_audience_holds_the_people_of_both(
    one: Audience, other: Audience, both: Audience
) -> None:
    assert one.narrowed(other) == both
    assert other.narrowed(one) == both


@pytest.mark.parametrize("stored", [{"open": True, "people": []}, {"open": False, "people": ["a"]}])
def test_audience_that_is_not_public_is_stored_as_before(stored: dict[str, object]) -> None:
    assert Audience.model_validate(stored).model_dump(mode="json") == stored


def test_public_audience_survives_storage() -> None:
    assert Audience.model_validate(PUBLIC.model_dump(mode="json")) == PUBLIC


@pytest.mark.parametrize(
    ("audience", "person"), [(ANN, "ann"), (BOTH, None), (NOBODY, None), (OPEN, None)]
)
def test_only_person_is_the_one_of_an_audience_with_one(
    audience: Audience, person: str | None
) -> None:
    assert audience.only_person == person


def test_audience_counts_people_that_it_names() -> None:
    assert BOTH.counts(["ben", "cara"])
    assert not BOTH.counts(["cara"])
    assert not OPEN.counts(["ann"])


def test_renamed_person_takes_the_place_of_the_old_id_in_order() -> None:
    assert of("ann", "ben", "cara").renamed("ann", "zoe") == of("ben", "cara", "zoe")
    assert of("ann", "ben", "cara").renamed("cara", "abe") == of("abe", "ann", "ben")


def test_renamed_person_who_is_there_already_is_named_once() -> None:
    assert BOTH.renamed("ann", "ben") == BEN


def test_renamed_person_of_another_audience_changes_nothing() -> None:
    assert BEN.renamed("ann", "zoe") == BEN
    assert OPEN.renamed("ann", "zoe") == OPEN
