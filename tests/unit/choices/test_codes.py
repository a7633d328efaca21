"""Codes of choices: new ones, and what an SMS with a number means."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from skein.errors import Conflict
from skein.models.chats.choice import Option
from skein.models.chats.person_choices import OpenChoice, OverCode, PersonChoices
from skein.models.common.reason import Reason
from skein.services.choices.codes import (
    IN_WORDS,
    MatchedAnswer,
    Refusal,
    closed,
    could_answer,
    match_code,
    new_codes,
    with_right_code,
    with_wrong_code,
)
from tests.fakes.system import SequentialIds
from tests.support.builders import NOON, TENANT

YES, NO, WORDS, OVER = "482113", "730559", "600600", "111222"
LATER = NOON + timedelta(days=1)

POST = OpenChoice(
    chat_id="chat_1",
    seq=4,
    purpose="consent",
    expires_at=LATER,
    codes={"yes": YES, "no": NO},
    labels={"yes": "Yes, post it!", "no": "No"},
)
COLOR = OpenChoice(
    chat_id="chat_2", seq=2, purpose="question", expires_at=LATER, codes={IN_WORDS: WORDS}
)
WITHOUT_CODES = POST.model_copy(update={"codes": {}, "labels": {}})
ENDED = OverCode(code=OVER, chat_id="chat_1", until=LATER)


def asked(*open_: OpenChoice, over: Sequence[OverCode] = ()) -> PersonChoices:
    return PersonChoices(tenant=TENANT, user_id="usr_a", open=open_, over=tuple(over))


def reason(body: str, choices: PersonChoices) -> Reason | None:
    match = match_code(body, choices, NOON)
    assert not isinstance(match, MatchedAnswer)
    return match.reason if match else None


class Scripted(SequentialIds):
    def __init__(self, *codes: str) -> None:
        super().__init__()
        self.codes = list(codes)

    def digits(self, length: int) -> str:
        assert length == 6
        return self.codes.pop(0)


# ---------------------------------------------------------------------- new codes


def test_new_codes_differ_from_open_and_recent_codes_and_each_other() -> None:
    options = [Option(id="a", label="A"), Option(id="b", label="B")]
    ids = Scripted(YES, OVER, "123456", "123456", "654321")
    codes = new_codes(asked(POST, over=[ENDED]), options, ids)
    assert codes == {"a": "123456", "b": "654321"}


def test_new_codes_for_words_are_one_code() -> None:
    assert new_codes(asked(), [], Scripted("000001")) == {IN_WORDS: "000001"}


# ---------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    "body",
    [
        YES,
        f"  {YES}.\n",
        f'"{YES}"',
        f"Yes, post it! {YES}",
        f"YES POST IT {YES}",
        f"{YES} yes post it",
        f"yes, post it: {YES}.",
        f"{YES}: Yes, post it!",
        f"\u200b{YES}\ufe0f \U0001f44d",
    ],
)
def test_code_alone_or_with_its_label_is_the_option(body: str) -> None:
    assert could_answer(body)
    assert match_code(body, asked(COLOR, POST), NOON) == MatchedAnswer(POST, YES, option="yes")


@pytest.mark.parametrize("body", [f"Yes {YES}", f"{YES} please", f"is it {YES}?", f"{YES} {NO}"])
def test_code_with_other_words_is_an_ordinary_sms(body: str) -> None:
    assert match_code(body, asked(POST), NOON) is None


def test_code_with_the_label_of_another_option_is_wrong() -> None:
    assert reason(f"No {YES}", asked(POST)) == Reason.WRONG_CODE


@pytest.mark.parametrize("between", [" ", ": ", "\n", ", ", " : "])
def test_code_and_words_are_an_answer_in_words(between: str) -> None:
    match = match_code(f"{WORDS}{between}Blue 482113, please!", asked(POST, COLOR), NOON)
    assert match == MatchedAnswer(COLOR, WORDS, words="Blue 482113, please!")


def test_words_before_the_code_are_an_ordinary_sms() -> None:
    assert match_code(f"Blue {WORDS}", asked(COLOR), NOON) is None


def test_code_of_words_alone_lacks_words() -> None:
    assert reason(WORDS, asked(COLOR)) == Reason.CODE_ALONE


# ---------------------------------------------------------------------- wrong, late, closed


@pytest.mark.parametrize("body", ["999999", "No 999999", "999999, no.", "YES POST IT: 999999"])
def test_other_number_alone_or_with_a_label_is_wrong(body: str) -> None:
    assert reason(body, asked(POST)) == Reason.WRONG_CODE


@pytest.mark.parametrize(
    "body",
    [
        "my order is 999999",
        "999999 is my order",
        "9999999",
        "99999",
        "4821130",
        "call +15005550100",
        "",
        "999 999",
    ],
)
def test_other_sms_with_digits_is_ordinary(body: str) -> None:
    assert reason(body, asked(POST, over=[ENDED])) is None


def test_wrong_number_before_words_counts_while_an_answer_in_words_is_open() -> None:
    assert reason("999999 send him the money", asked(POST, COLOR)) == Reason.WRONG_CODE
    assert reason("send 999999", asked(POST, COLOR)) is None


@pytest.mark.parametrize("body", ["123456", YES])
def test_number_of_a_person_without_codes_is_ordinary(body: str) -> None:
    assert reason(body, asked()) is None
    assert reason(body, asked(WITHOUT_CODES)) is None


def test_number_after_the_last_question_is_wrong_for_a_day() -> None:
    assert reason("123456", asked(over=[ENDED])) == Reason.WRONG_CODE


@pytest.mark.parametrize("body", [OVER, f"Yes {OVER}", f"{OVER} all the words of the answer"])
def test_code_of_a_question_that_is_over_names_its_chat(body: str) -> None:
    choices = asked(POST, COLOR, over=[ENDED])
    assert match_code(body, choices, NOON) == Refusal(Reason.CHOICE_OVER, "chat_1")


def test_fifth_wrong_code_closes_answers_by_sms_for_a_day() -> None:
    choices = asked(POST, COLOR, over=[ENDED])
    for _ in range(4):
        choices = with_wrong_code(choices, NOON)
    assert isinstance(match_code(YES, choices, NOON), MatchedAnswer)

    choices = with_wrong_code(choices, NOON)

    for body in (YES, "999999", WORDS, f"{WORDS} blue"):
        assert match_code(body, choices, NOON) == Refusal(Reason.SMS_ANSWERS_CLOSED)
    assert reason(OVER, choices) == Reason.CHOICE_OVER
    assert reason("hello", choices) is None
    with pytest.raises(Conflict):
        with_right_code(choices, YES, NOON)
    assert closed(choices, LATER - timedelta(milliseconds=1))
    assert not closed(choices, LATER)
    again = with_wrong_code(choices, LATER)
    assert (again.wrong_codes, closed(again, LATER)) == (1, False)


def test_right_code_ends_the_count_of_wrong_ones() -> None:
    choices = with_wrong_code(asked(POST), NOON)
    assert with_right_code(choices, YES, NOON).wrong_codes == 0


def test_code_that_is_not_open_any_more_is_refused() -> None:
    with pytest.raises(Conflict):
        with_right_code(asked(COLOR), YES, NOON)
