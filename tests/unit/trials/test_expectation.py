"""An expectation names what a play of a case does not meet, and compares without surprises."""

from typing import Any

import pytest
from pydantic import ValidationError

from skein.trials.models.expectation import (
    Expectation,
    PartOfCall,
    Played,
    PlayedCall,
    PlayedQuestion,
    covers,
    missing_of,
    plain,
)


def missing(played: Played, **expected: Any) -> str | None:
    return Expectation.model_validate(expected).missing(played)


def said(*texts: str) -> Played:
    return Played(texts=texts)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("Half Past", "It is HALF  past\nfour."),
        ("\uff32\uff25\uff38", "Your dog is rex."),
        ("straße", "in der STRASSE"),
        ("15", "That leaves 15 of 50."),
        ("15 euros", "You have 15euros."),
        ("1000", "It costs 1,000.00 in all."),
        ("1,000,000", "1000000 people"),
        ("9:15", "At 09:15."),
        ("tulip9", "TULIP 9"),
        ("2 May", "2 may"),
        ("五时", "五 时"),
    ],
)
def test_phrase_is_found_without_case_width_and_spaces(phrase: str, text: str) -> None:
    assert missing(said("Hello.", text), says=[phrase]) is None
    assert missing(said("Hello.", text), says_not=["never said", phrase]) == f"says: {phrase}"


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("15", "150"),
        ("15", "1,500"),
        ("15", "115"),
        ("15", "15.5"),
        ("1.5", "1.50001"),
        ("2 May", "22 May"),
        ("tulip9", "tulip99"),
    ],
)
def test_number_is_never_a_part_of_another_number(phrase: str, text: str) -> None:
    assert missing(said(text), says=[phrase]) == f'says none of: "{phrase}"'


def test_long_text_is_compared_in_linear_time() -> None:
    assert plain("1,000" * 100_000)
    assert missing(said("a " * 500_000), says=["b"] * 20)


def expected(*days: str) -> list[Expectation]:
    """The calls of bookings, each for a day, or for any day."""
    parts = [{"day": day} if day else {} for day in days]
    return [Expectation(calls=PartOfCall(tool="book", arguments=part)) for part in parts]


@pytest.mark.parametrize(
    ("days", "booked", "missed"),
    [
        (("Friday", "Friday"), ("Friday", "Friday"), 0),
        (("Friday", "Friday"), ("Friday", "Sunday"), 1),
        (("", "Friday"), ("Friday", "Sunday"), 0),  # any day takes Sunday
        (("", "Friday", "Sunday"), ("Friday", "Sunday", "Monday"), 0),
        (("", "Friday"), ("Friday",), 1),
    ],
)
def test_each_expected_call_takes_a_call_of_its_own(
    days: tuple[str, ...], booked: tuple[str, ...], missed: int
) -> None:
    played = Played(calls=tuple(PlayedCall("book", {"day": day}) for day in booked))
    found = missing_of(expected(*days), played)
    assert len([each for each in found if each is not None]) == missed


BOOK = PlayedCall("book", {"day": "Friday", "seats": 4, "who": {"name": "Ann", "vip": True}}, "ok")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"seats": 4.0},
        {"day": "friday "},
        {"who": {"name": "ANN"}},
        {"seats": 4, "who": {"vip": True}},
    ],
)
def test_call_is_found_by_a_part_of_its_arguments(arguments: dict[str, Any]) -> None:
    part = {"tool": "book", "arguments": arguments}
    assert missing(Played(calls=(BOOK,)), calls=part) is None
    assert "calls book" in (missing(Played(calls=(BOOK,)), calls_not=part) or "")


@pytest.mark.parametrize(
    "arguments",
    [{"seats": 5}, {"seats": "4"}, {"who": {"vip": 1}}, {"day": "Fri"}, {"by": None}],
)
def test_call_with_other_arguments_is_missing(arguments: dict[str, Any]) -> None:
    part = {"tool": "book", "arguments": arguments}
    assert "does not call book" in (missing(Played(calls=(BOOK,)), calls=part) or "")
    assert missing(Played(calls=(BOOK,)), calls_not=part) is None


def test_call_of_another_tool_is_missing() -> None:
    assert missing(Played(calls=(BOOK,)), calls={"tool": "cancel"}) == "does not call cancel({})"


def test_part_of_a_list_stands_in_the_same_order() -> None:
    assert covers([1, {"a": 2}], [0, 1, {"a": 2, "b": 3}])
    assert not covers([2, 1], [1, 2])
    assert not covers([1], 1)
    assert covers({"a": None}, {"a": None})


def test_what_was_done_is_compared() -> None:
    asked = PlayedQuestion("Which drink?", ("Tea", "Coffee"))
    full = Played(
        texts=("Hi.",),
        questions=(asked,),
        asked_person=True,
        cited=("src_1",),
        judged={"Is kind.": None},
    )
    for expected in (
        {"asks": ["drink"]},
        {"asks": ["tea"]},
        {"asks_a_person": True},
        {"cites": "src_1"},
        {"judge": "Is kind."},
    ):
        assert missing(full, **expected) is None
        assert missing(Played(), **expected)
    assert missing(Played(), silent=True) is None
    assert missing(full, silent=True) == "says: Hi."


def test_limits_name_what_is_over() -> None:
    played = Played(tokens=900, steps=3, sms_units=2)
    assert missing(played, at_most={"tokens": 900, "steps": 3, "sms_units": 2}) is None
    over = missing(played, at_most={"tokens": 800, "steps": 3, "sms_units": 1})
    assert over == "uses 900 tokens instead of 800, 2 sms_units instead of 1"


@pytest.mark.parametrize(
    "expected",
    [
        {},
        {"says": ["a"], "silent": True},
        {"says": []},
        {"says": [" \u2003"]},
        {"says": ["a"] * 21},
        {"silent": False},
        {"at_most": {}},
        {"at_most": {"tokens": -1}},
        {"calls": {"tool": ""}},
        {"says_like": "a.*"},
    ],
)
def test_expectation_that_is_not_one_of_the_kinds_is_refused(expected: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Expectation.model_validate(expected)
