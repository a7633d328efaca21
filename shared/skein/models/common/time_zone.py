"""Validation of time zones by their IANA names."""

from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, StringConstraints


def iana_time_zone(name: str) -> str:
    """Return `name` if it is an IANA time zone such as `Europe/Berlin`.

    Raises:
        ValueError: The name is not an IANA time zone.
    """
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # zoneinfo raises each of these for some invalid names
        raise ValueError("not an IANA time zone") from None
    return name


TimeZone = Annotated[
    str, StringConstraints(min_length=1, max_length=64), AfterValidator(iana_time_zone)
]
