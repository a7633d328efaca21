"""Keywords that stop and start SMS."""

import pytest

from skein.services.inbound.sms_keywords import keyword_in


@pytest.mark.parametrize("body", ["please stop", "stop it", "stopped", "ends", "help!", "start it"])
def test_ordinary_words_are_for_the_agent(body: str) -> None:
    assert keyword_in(body, told=None, opted_out=True) is None


@pytest.mark.parametrize(
    ("told", "keyword"), [("STOP", "stop"), ("START", "start"), ("HELP", "help"), ("stop", "stop")]
)
def test_opt_out_type_of_twilio_decides_the_keyword(told: str, keyword: str) -> None:
    assert keyword_in("arr\u00eat", told=told, opted_out=False) == keyword
    assert keyword_in("stop", told=told, opted_out=False) == keyword


def test_a_word_that_twilio_has_no_name_for_is_judged_by_itself() -> None:
    assert keyword_in("stop", told="NEW", opted_out=False) == "stop"
    assert keyword_in("hello", told="NEW", opted_out=False) is None
