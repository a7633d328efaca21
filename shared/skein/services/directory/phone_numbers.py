"""Phone numbers in E.164, the only form in which they are stored."""

import phonenumbers

from skein.errors import Unprocessable


def e164(number: str) -> str:
    """Convert a phone number to E.164, for example `+15005550006`.

    Raises:
        Unprocessable: The text is not a full international number. It is, for example, a short
            code, a name, an address of another channel, or a number of an impossible length.
    """
    text = number.strip()
    try:
        parsed = phonenumbers.parse(text) if text.startswith("+") else None
    except phonenumbers.NumberParseException:
        parsed = None
    if parsed is None or parsed.extension or not phonenumbers.is_possible_number(parsed):
        raise Unprocessable(
            "the phone number must be in E.164 form",
            details={"number": number[:64]},
        )
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
