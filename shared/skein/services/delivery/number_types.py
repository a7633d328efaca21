"""Kinds of phone numbers: which ones a line answers, and how fast a line may send."""

from collections.abc import Sequence

import phonenumbers
from phonenumbers import PhoneNumberType

NEVER = {PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST}
# The library's region of numbers without a country: satellites, networks at sea, world-wide premium
# and shared-cost numbers (https://en.wikipedia.org/wiki/List_of_country_calling_codes#World_numbering_zones).
NO_COUNTRY = "001"


def may_answer(phone: str, line: str, countries: Sequence[str]) -> bool:
    """Tell whether a line sends SMS to a phone.

    Premium, shared-cost and satellite numbers get none.

    Args:
        phone: The person's number, in E.164.
        line: The line's number, in E.164.
        countries: The ISO codes of the countries that the line answers; none for its own country.
    """
    number = phonenumbers.parse(phone)
    country = _country(number)
    if country == NO_COUNTRY or phonenumbers.number_type(number) in NEVER:
        return False
    return country in (countries or (_country(phonenumbers.parse(line)),))


def is_american(phone: str) -> bool:
    """Tell whether a phone has a number of the US."""
    return _country(phonenumbers.parse(phone)) == "US"


def is_toll_free(line: str) -> bool:
    """Tell whether a line's number is toll-free."""
    return phonenumbers.number_type(phonenumbers.parse(line)) == PhoneNumberType.TOLL_FREE


def _country(number: phonenumbers.PhoneNumber) -> str:
    """Return a number's country; the main one of its calling code if its own is not assigned."""
    own = phonenumbers.region_code_for_number(number)
    return own or phonenumbers.region_code_for_country_code(number.country_code or 0)
