"""Phone numbers: their form, and which ones a line answers."""

from collections.abc import Sequence

import phonenumbers
from phonenumbers import PhoneNumberType

from skein.channels.port import E164

NEVER = {PhoneNumberType.PREMIUM_RATE, PhoneNumberType.SHARED_COST}
# The library's region of numbers without a country: satellites, networks at sea, world-wide premium
# and shared-cost numbers (https://en.wikipedia.org/wiki/List_of_country_calling_codes#World_numbering_zones).
NO_COUNTRY = "001"


def e164(number: str) -> str:
    """Convert a phone number to E.164, for example `+15005550006`.

    Raises:
        ValueError: The text is not a full international number. It is, for example, a short code, a
            name, an address of another channel, or a number of an impossible length.
    """
    text = number.strip().removeprefix("tel:")
    try:
        parsed = phonenumbers.parse(text) if text.startswith("+") else None
    except phonenumbers.NumberParseException:
        parsed = None
    if parsed is None or parsed.extension or not phonenumbers.is_possible_number(parsed):
        raise ValueError("not a full phone number with its country code")
    formatted = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
    if E164.fullmatch(formatted) is None:
        raise ValueError("not a phone number in E.164")
    return formatted


def may_answer(phone: str, countries: Sequence[str]) -> bool:
    """Return whether a line sends messages to a phone.

    A line never sends to premium, shared-cost and satellite numbers.

    Args:
        phone: The person's number, in E.164.
        countries: The ISO codes of the countries that the line answers; empty for all.
    """
    number = phonenumbers.parse(phone)
    country = _country(number)
    if country == NO_COUNTRY or phonenumbers.number_type(number) in NEVER:
        return False
    return not countries or country in countries


def country_of(phone: str) -> str:
    """Return the ISO code of the country of a number in E.164."""
    return _country(phonenumbers.parse(phone))


def is_american(phone: str) -> bool:
    return country_of(phone) == "US"


def is_toll_free(line: str) -> bool:
    return phonenumbers.number_type(phonenumbers.parse(line)) == PhoneNumberType.TOLL_FREE


def _country(number: phonenumbers.PhoneNumber) -> str:
    """Return a number's country; for an unassigned number, its calling code's main country."""
    own = phonenumbers.region_code_for_number(number)
    return own or phonenumbers.region_code_for_country_code(number.country_code or 0)
