"""Phone numbers in E.164, the only form in which they are stored."""

from typing import Annotated

import phonenumbers
from pydantic import AfterValidator, StringConstraints, TypeAdapter

from skein.models.common.base import E164

_E164: TypeAdapter[str] = TypeAdapter(E164)


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
    return _E164.validate_python(formatted)


Phone = Annotated[str, StringConstraints(min_length=1, max_length=32), AfterValidator(e164)]
"""A number as a client writes it, converted to E.164."""
