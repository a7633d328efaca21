"""Requests and resources of the HTTP API: codes with which people prove their phone numbers."""

from typing import Annotated

from pydantic import ConfigDict, Field

from skein.models.api.base import Request, Resource
from skein.models.common.base import Instant
from skein.models.directory.number_code import NumberCode


class GivenCode(Request):
    """A code that the user received by SMS and enters to prove the phone number."""

    model_config = ConfigDict(json_schema_extra={"example": {"code": "483920"}})

    code: Annotated[str, Field(pattern=r"^[0-9]{6}$", description="The six digits of the SMS.")]


class SentCode(Resource):
    """A code on its way to a phone number."""

    phone: Annotated[str, Field(description="The number that gets the code, in E.164.")]
    line: Annotated[str, Field(description="The line from which the code is sent.")]
    valid_until: Annotated[Instant, Field(description="When the code expires.")]

    @classmethod
    def of_code(cls, code: NumberCode) -> "SentCode":
        """Build the resource of a code, without its digits."""
        return cls(phone=code.address.address, line=code.line.address, valid_until=code.valid_until)
