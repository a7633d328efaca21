"""Validation of free fields, such as a person's profile, for the table."""

import json
from math import isfinite
from typing import Annotated, Any

from pydantic import AfterValidator, Field, Strict, StringConstraints, TypeAdapter
from typing_extensions import TypedDict

MAX_FIELDS_BYTES = 16_384
MAX_FIELDS_DEPTH = 8
LARGEST_NUMBER = 1e100  # far below the limit of the table
OWN_FIELDS = ("name", "time_zone")  # fields of the user, not of the profile


def _storable(fields: dict[str, Any]) -> dict[str, Any]:
    """Check that the table can hold free fields unchanged."""
    if len(json.dumps(fields, ensure_ascii=False).encode()) > MAX_FIELDS_BYTES:
        raise ValueError(f"more than {MAX_FIELDS_BYTES:,} bytes")
    _check_value(fields, MAX_FIELDS_DEPTH)
    return fields


class _KnownFields(TypedDict, total=False):
    """The types of the well-known fields of a profile; all other fields are free."""

    goals: str | list[str] | None
    skill_level: str | Annotated[int, Strict()] | None
    recent_topics: str | list[str] | None


_KNOWN_FIELDS: TypeAdapter[_KnownFields] = TypeAdapter(_KnownFields)


def _described(profile: dict[str, Any]) -> dict[str, Any]:
    """Check the well-known fields of a profile.

    Raises:
        ValueError: A well-known field has a wrong type, or the profile has a field that the user
            record has itself, such as the name.
    """
    for name in OWN_FIELDS:
        if name in profile:
            raise ValueError(f"{name} is a field of the user, not of the profile")
    _KNOWN_FIELDS.validate_python(profile)
    return profile


def _check_value(value: Any, depth: int) -> None:
    if depth < 0:
        raise ValueError(f"nested more than {MAX_FIELDS_DEPTH} deep")
    if isinstance(value, dict):
        if "" in value:
            raise ValueError("a field has no name")
        for inner in value.values():
            _check_value(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _check_value(inner, depth - 1)
    elif isinstance(value, (int, float)):
        _check_number(value)


def _check_number(number: float) -> None:
    if isinstance(number, int):  # compared as an int, since a large int does not fit a float
        if abs(number) > 2**63:
            raise ValueError("a number is too large to store")
        return
    if not isfinite(number) or abs(number) > LARGEST_NUMBER or 0 < abs(number) < 1 / LARGEST_NUMBER:
        raise ValueError("a number is too large or too small to store")


Fields = Annotated[dict[str, Any], AfterValidator(_storable)]
Profile = Annotated[
    dict[str, Any],
    AfterValidator(_storable),
    AfterValidator(_described),
    Field(
        description="Free fields of up to 16 KiB. `goals` and `recent_topics` are a string or "
        "a list of strings, `skill_level` is a string or an integer."
    ),
]
ProfileFieldNames = Annotated[
    tuple[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")], ...],
    Field(
        max_length=50,
        description="Fields of people that the agent's tool `update_profile` and consolidation "
        "may set; they may include `name` and `time_zone`.",
    ),
]
