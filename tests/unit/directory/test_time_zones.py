"""Time zones of people and of phone numbers."""

from typing import Any

import pytest

from skein.models.common.address import phone_address
from skein.models.directory.user import User
from skein.services.directory.time_zones import zone_of_number, zone_of_person
from tests.support.builders import NOON, TENANT

GERMAN = phone_address("+4915123456789")


@pytest.mark.parametrize(
    ("number", "zone"),
    [
        ("+442079460958", "Europe/London"),
        ("+962791234567", "Asia/Amman"),
        ("+18765550123", "America/Jamaica"),
        ("+4915123456789", "Europe/Berlin"),  # Busingen's clocks follow the same rules
        ("+14155550123", None),  # several zones
        ("+5511912345678", None),
        ("+80012345678", None),  # no country
        ("+9999999999", None),
    ],
)
def test_zone_of_number_exists_only_if_its_country_has_one_zone(
    number: str, zone: str | None
) -> None:
    assert zone_of_number(number) == zone


@pytest.mark.parametrize(
    ("fields", "zone"),
    [
        ({"time_zone": "Asia/Tokyo", "addresses": (GERMAN,)}, "Asia/Tokyo"),
        ({"addresses": (GERMAN,)}, "Europe/Berlin"),
        ({"addresses": (GERMAN, phone_address("+442079460958"))}, None),
        ({"addresses": (GERMAN, phone_address("+14155550123"))}, None),
        ({}, None),
    ],
)
def test_zone_of_person_is_their_own_else_that_of_all_their_numbers(
    fields: dict[str, Any], zone: str | None
) -> None:
    ann = User(tenant=TENANT, id="usr_ann", name="Ann", created_at=NOON, **fields)
    assert zone_of_person(ann) == zone
