"""Phone numbers in E.164, the only form in which they are stored."""

from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from skein.channels.phone_numbers import e164

Phone = Annotated[str, StringConstraints(min_length=1, max_length=32), AfterValidator(e164)]
"""A number as a client writes it, converted to E.164."""
