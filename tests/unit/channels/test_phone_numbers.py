"""Numbers that a line answers, and numbers that no line answers."""

import pytest

from skein.channels.phone_numbers import is_toll_free
from skein.channels.sms import SMS

US, FRENCH = "+12025550123", "+33612345678"


def test_line_answers_its_own_country_by_default() -> None:
    assert SMS.may_answer("+12025550199", US, ())
    assert not SMS.may_answer(FRENCH, US, ())
    assert not SMS.may_answer("+16135550123", US, ())  # Canada shares the calling code


def test_line_answers_the_countries_of_its_setting_only() -> None:
    assert SMS.may_answer(FRENCH, US, ("FR", "DE"))
    assert not SMS.may_answer("+12025550199", US, ("FR", "DE"))


@pytest.mark.parametrize(
    "number",
    [
        "+19005550123",  # premium
        "+449098790123",  # premium
        "+448431234567",  # shared cost
        "+8816123456789",  # satellite
        "+882161234567",  # satellite
        "+979123456789",  # premium, worldwide
    ],
)
def test_premium_shared_cost_and_satellite_numbers_are_never_answered(number: str) -> None:
    countries = ("US", "GB", "001")
    assert not SMS.may_answer(number, US, countries)


def test_toll_free_line_is_recognised() -> None:
    assert is_toll_free("+18005550123")
    assert not is_toll_free(US)
