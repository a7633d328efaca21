"""Phone numbers in the one form in which they are stored: E.164."""

import phonenumbers

from skein.errors import Unprocessable


def e164(number: str) -> str:
    """The number in E.164, e.g. `+15005550006`.

    Raises:
        Unprocessable: It is no full international number: a short code, a name, another channel's
            address, or of a length that its country does not know.
    """
    text = number.strip()
    try:
        parsed = phonenumbers.parse(text) if text.startswith("+") else None
    except phonenumbers.NumberParseException:
        parsed = None
    if parsed is None or parsed.extension or not phonenumbers.is_possible_number(parsed):
        raise Unprocessable(
            "only full phone numbers in international form are served",
            details={"number": number[:64]},
        )
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
