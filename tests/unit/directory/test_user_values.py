"""Which phone numbers, time zones and free fields are accepted."""

from typing import Any

import pytest
from pydantic import ValidationError

from skein.channels.phone_numbers import e164
from skein.models.api.directory import NewUser
from skein.models.common.base import iana_time_zone
from tests.support.builders import TENANT, World


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("+15005550006", "+15005550006"),
        ("+1 (500) 555-0006", "+15005550006"),
        (" +44 20 7946 0958 ", "+442079460958"),
        ("+49 151 23456789", "+4915123456789"),
        ("tel:+15005550006", "+15005550006"),
    ],
)
def test_phone_numbers_are_stored_in_one_form(given: str, stored: str) -> None:
    assert e164(given) == stored


@pytest.mark.parametrize(
    "given",
    [
        "",
        "5005550006",
        "+",
        "+1",
        "+12",
        "hello",
        "+999999999999999999",
        "+0123456789",
        "+15005550006 ext. 5",
        "whatsapp:+15005550006",
    ],
)
def test_invalid_phone_number_is_refused(given: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic turns any into a 422
        e164(given)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia"])
def test_iana_time_zones_are_accepted(name: str) -> None:
    assert iana_time_zone(name) == name


@pytest.mark.parametrize(
    "name", ["", "Mars/Base", "America", "../../etc/passwd", "/etc/localtime", "UTC\0", "+02:00"]
)
def test_invalid_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic turns any into a 422
        iana_time_zone(name)


@pytest.mark.parametrize(
    "profile",
    [
        {"": 1},
        {"a": 2**70},
        {"a": 1e300},
        {"a": 10**400},
        {"a": 1e-300},
        {"a": "x" * 20_000},
        {"a": [[[[[[[[[[1]]]]]]]]]]},
    ],
)
def test_free_fields_that_the_table_cannot_hold_are_refused(profile: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        NewUser(name="Ann", profile=profile)


@pytest.mark.parametrize(
    "profile", [{"a": [{"b": [None, True, 1, 1.5, "", "x"]}]}, {"n": -(2**60)}]
)
def test_free_fields_come_back_as_they_were(profile: dict[str, Any]) -> None:
    world = World()
    user = world.app.users.create(TENANT, NewUser(name="Ann", profile=profile))
    assert world.app.users.get(TENANT, user.id).profile == profile
