"""Create and match codes: the numbers with which a person answers choices by SMS.

Each option has its own code. A question that is answered in words has one code. The codes are
stored in `PersonChoices`, and only the SMS with the question shows them. A code is unique among the
person's open and recent questions on all lines, so the person may answer on any line. After five
wrong codes, answers by SMS are closed for a day.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from skein.errors import Conflict
from skein.models.chats.choice import Option
from skein.models.chats.person_choices import (
    MAX_WRONG_CODES,
    OpenChoice,
    OverCode,
    PersonChoices,
)
from skein.models.common.reason import Reason
from skein.ports import Ids

CODE_LENGTH = 6
IN_WORDS = "words"  # the key of the only code of a question without options
CLOSED = timedelta(days=1)  # how long SMS answers stay closed after too many wrong codes

_FIRST = re.compile(r"[\W_]*([0-9]{6})(?![0-9])\s*[:,.;]?(.*)", re.DOTALL)
_LAST = re.compile(r"(.*?)(?<![0-9])([0-9]{6})[\W_]*", re.DOTALL)


class MatchedAnswer(NamedTuple):
    """A message that answers an open choice.

    Attributes:
        code: The code in the SMS, so that an SMS that is processed twice has the same result. None
            for a typed yes or no.
        option: The id of the option; None for an answer in words.
        words: The person's words; None if an option was chosen.
        newest_seq: For a typed yes or no, the message that must still be the newest when the answer
            is stored. None if the person used the channel's reply function on the question.
    """

    choice: OpenChoice
    code: str | None = None
    option: str | None = None
    words: str | None = None
    newest_seq: int | None = None


class Refusal(NamedTuple):
    """An SMS that contains a code or a wrong code, but does not answer a question.

    Attributes:
        reason: `WRONG_CODE`, `CODE_ALONE`, `CHOICE_OVER` or `SMS_ANSWERS_CLOSED`.
        chat_id: The chat of the question that the code belongs to; None for a wrong code.
        seq: The message of the question that the code belongs to, if known.
        counted: The person's choices with one more wrong code; None if the SMS does not count as a
            wrong code.
    """

    reason: Reason
    chat_id: str | None = None
    seq: int | None = None
    counted: PersonChoices | None = None

    @property
    def over(self) -> bool:
        """Whether the question that the code belongs to has ended."""
        return self.reason == Reason.CHOICE_OVER


CodeMatch = MatchedAnswer | Refusal


class _Numbered(NamedTuple):
    """A number at the start or the end of an SMS, and the rest of the SMS."""

    code: str
    rest: str
    first: bool


def new_codes(choices: PersonChoices, options: Sequence[Option], ids: Ids) -> dict[str, str]:
    """Create the codes of a choice, by option id.

    A choice without options gets one code, under the key `IN_WORDS`. The codes differ from each
    other and from all codes of the person's open and recent choices.
    """
    taken = {code for choice in choices.open for code in choice.codes.values()}
    taken |= {over.code for over in choices.over}
    codes: dict[str, str] = {}
    for key in [option.id for option in options] or [IN_WORDS]:
        while (code := ids.digits(CODE_LENGTH)) in taken:
            pass
        codes[key] = code
        taken.add(code)
    return codes


def could_answer(body: str) -> bool:
    """Return whether an SMS begins or ends with a number of six digits."""
    return any(True for _ in _numbers(body))


def match_code(body: str, choices: PersonChoices, now: datetime) -> CodeMatch | None:
    """Match an SMS against the codes of a person.

    To answer, the person sends the code, alone or with the label of its option; case and
    punctuation are ignored. An answer in words starts with the code.

    A six-digit number that is not a code counts as a wrong code in each place where a code would be
    accepted: alone, next to a label or, if an open question is answered in words, before other
    words.

    Args:
        body: The text of the SMS, which is not a keyword.
        choices: The person's choices as of `now`.

    Returns:
        The answer, or why the SMS is not an answer. None for an ordinary SMS: either the SMS has
        other words, or the person has had no question with codes within the last day.
    """
    if not choices.over and not any(choice.codes for choice in choices.open):
        return None
    found = [match for number in _numbers(body) if (match := _judged(number, choices)) is not None]
    right = (match for match in found if isinstance(match, MatchedAnswer) or match.over)
    match = next(right, found[0] if found else None)
    if match is None or (isinstance(match, Refusal) and match.over):
        return match
    if closed(choices, now):
        return Refusal(Reason.SMS_ANSWERS_CLOSED)
    if isinstance(match, MatchedAnswer) or match.reason != Reason.WRONG_CODE:
        return match
    counted = with_wrong_code(choices, now)
    reason = Reason.SMS_ANSWERS_CLOSED if closed(counted, now) else Reason.WRONG_CODE
    return Refusal(reason, counted=counted)


def closed(choices: PersonChoices, now: datetime) -> bool:
    """Return whether a person's answers by SMS are closed, after too many wrong codes."""
    return choices.sms_closed_until is not None and now < choices.sms_closed_until


def with_wrong_code(choices: PersonChoices, now: datetime) -> PersonChoices:
    """Return the choices with one more wrong code; the fifth closes SMS answers for a day."""
    wrong = choices.wrong_codes + 1
    if wrong < MAX_WRONG_CODES:
        return choices.model_copy(update={"wrong_codes": wrong})
    return choices.model_copy(update={"wrong_codes": 0, "sms_closed_until": now + CLOSED})


def with_right_code(choices: PersonChoices, code: str, now: datetime) -> PersonChoices:
    """Return the choices after a right code, with the count of wrong codes reset to 0.

    Raises:
        Conflict: Answers by SMS are closed, or the question has ended.
    """
    if closed(choices, now) or all(code not in one.codes.values() for one in choices.open):
        raise Conflict("the code is not accepted any more")
    return choices.model_copy(update={"wrong_codes": 0})


def _numbers(body: str) -> Iterator[_Numbered]:
    first, last = _FIRST.fullmatch(body), _LAST.fullmatch(body)
    if first is not None:
        yield _Numbered(first[1], first[2].strip(), first=True)
    if last is not None and (first is None or last.start(2) != first.start(1)):
        yield _Numbered(last[2], last[1].strip(), first=False)


def _judged(number: _Numbered, choices: PersonChoices) -> CodeMatch | None:
    for choice in choices.open:
        for option_id, code in choice.codes.items():
            if code == number.code:
                return _answer(number, choice, option_id)
    over = _over(number.code, choices.over)
    if over is not None:
        return Refusal(Reason.CHOICE_OVER, over.chat_id, over.seq)
    labels = (label for choice in choices.open for label in choice.labels.values())
    before_words = number.first and any(choice.in_words for choice in choices.open)
    guess = before_words or _is_one_of(number.rest, labels)
    return Refusal(Reason.WRONG_CODE) if guess else None


def _answer(number: _Numbered, choice: OpenChoice, option_id: str) -> CodeMatch | None:
    """Return the answer or refusal for an SMS with a right code; None if it has other words."""
    if choice.in_words:
        if not number.rest:
            return Refusal(Reason.CODE_ALONE, choice.chat_id, choice.seq)
        answer = MatchedAnswer(choice, number.code, words=number.rest)
        return answer if number.first else None
    if _is_one_of(number.rest, [choice.labels.get(option_id, "")]):
        return MatchedAnswer(choice, number.code, option=option_id)
    another = _is_one_of(number.rest, choice.labels.values())
    return Refusal(Reason.WRONG_CODE) if another else None


def _over(code: str, codes: Iterable[OverCode]) -> OverCode | None:
    return next((over for over in codes if over.code == code), None)


def _is_one_of(rest: str, labels: Iterable[str]) -> bool:
    """Return whether the rest of an SMS is empty or a label, ignoring case and punctuation."""
    words = _words(rest)
    return not words or words in map(_words, labels)


def _words(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", " ", plain).strip()
