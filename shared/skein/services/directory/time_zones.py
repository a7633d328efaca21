"""Time zones and quiet hours of people.

A person's time zone is set for them, or derived from the country of their phone numbers.
"""

from datetime import datetime
from functools import cache
from importlib.resources import files

import phonenumbers

from skein.models.config.overrides import LimitSettings
from skein.models.directory.user import User


def quiet_until(
    moment: datetime, user: User | None, settings: LimitSettings, zone: str
) -> datetime | None:
    """Return the end of a person's quiet hours; None if `moment` is not within them.

    The person's own quiet hours take precedence over the quiet hours in `settings`.

    Args:
        user: The person's record; None without a record.
        settings: The settings of the deployment, with the tenant's overrides.
        zone: The IANA name of the time zone to use if the person's time zone is unknown.
    """
    hours = (user.quiet_hours if user is not None else None) or settings.quiet_hours
    own_zone = zone_of_person(user) if user is not None else None
    return hours.end_after(moment, own_zone or zone)


def zone_of_person(user: User) -> str | None:
    """Return a person's IANA time zone.

    Returns:
        The zone that is set for the person. If no zone is set, the zone of the person's phone
        numbers. None if the person has no numbers, or if the numbers have different zones.
    """
    if user.time_zone is not None:
        return user.time_zone
    zones = {zone_of_number(phone) for phone in user.phones}
    return zones.pop() if len(zones) == 1 else None


@cache
def zone_of_number(phone: str) -> str | None:
    """Return the IANA time zone of a phone number's country, if the country has only one zone.

    Zones whose clocks follow the same rules today, such as Europe/Berlin and Europe/Busingen, count
    as one zone. The United States, for example, has several zones.

    Args:
        phone: The number in E.164.

    Returns:
        The name of the zone; None if the number does not belong to a country, or the country has
        several zones.
    """
    try:
        country = phonenumbers.region_code_for_number(phonenumbers.parse(phone))
    except phonenumbers.NumberParseException:
        return None
    zones = _zones_by_country().get(country or "", ())
    return zones[0] if len({_rule_of(zone) for zone in zones}) == 1 else None


@cache
def _zones_by_country() -> dict[str, tuple[str, ...]]:
    """Return the time zones by ISO 3166 code of the country, the most populous zone first."""
    found: dict[str, tuple[str, ...]] = {}
    table = files("tzdata.zoneinfo").joinpath("zone.tab").read_text(encoding="utf-8")
    for line in table.splitlines():
        if not line.startswith("#"):
            country, _, zone, *_ = line.split("\t")
            found[country] = (*found.get(country, ()), zone)
    return found


def _rule_of(zone: str) -> bytes:
    """Return the rule of a zone's clocks from now on: the last line of its file (RFC 8536)."""
    return files("tzdata.zoneinfo").joinpath(zone).read_bytes().rsplit(b"\n", 2)[1]
