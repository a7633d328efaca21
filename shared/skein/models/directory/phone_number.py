"""Phone numbers in E.164 and addresses of lines, in the only forms in which they are stored."""

from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from skein.channels.phone_numbers import e164
from skein.channels.registry import kinds

Phone = Annotated[str, StringConstraints(min_length=1, max_length=32), AfterValidator(e164)]
"""A number as a client writes it, converted to E.164."""


def line_address(text: str) -> str:
    """Convert the address of a line, such as a phone number, to its stored form.

    Raises:
        ValueError: The text is not a full address of any kind.
    """
    errors = []
    for kind in kinds().values():
        try:
            return kind.normalised(text)
        except ValueError as error:
            errors.append(str(error))
    raise ValueError("; ".join(errors))


LineAddress = Annotated[
    str, StringConstraints(min_length=1, max_length=254), AfterValidator(line_address)
]
"""A line's address as a client writes it, converted to its stored form."""
