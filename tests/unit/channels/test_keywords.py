"""Keywords that stop and start SMS."""

import pytest

from skein.channels.keywords import is_keyword, keyword_in


@pytest.mark.parametrize("body", ["stop it", "stopped", "ends", "help!", "start it", "please help"])
def test_ordinary_words_are_for_the_agent(body: str) -> None:
    assert keyword_in(body, opt_out_type=None, opted_out=True) is None


@pytest.mark.parametrize(
    ("opt_out_type", "keyword"),
    [("STOP", "stop"), ("START", "start"), ("HELP", "help"), ("stop", "stop")],
)
def test_opt_out_type_of_twilio_decides_the_keyword(opt_out_type: str, keyword: str) -> None:
    assert keyword_in("arr\u00eat", opt_out_type=opt_out_type, opted_out=False) == keyword
    assert keyword_in("stop", opt_out_type=opt_out_type, opted_out=False) == keyword


def test_a_word_that_twilio_has_no_name_for_is_judged_by_itself() -> None:
    assert keyword_in("stop", opt_out_type="NEW", opted_out=False) == "stop"
    assert keyword_in("hello", opt_out_type="NEW", opted_out=False) is None


@pytest.mark.parametrize("label", ["Stop", "End!", "help", "START", "Cancel.", "Abbestellen"])
def test_label_that_is_a_keyword_is_one(label: str) -> None:
    assert is_keyword(label)


@pytest.mark.parametrize("label", ["Yes", "No", "Stop it", "Start now"])
def test_other_label_is_no_keyword(label: str) -> None:
    assert not is_keyword(label)
