"""Routes of the channels, for tests."""

from skein.models.common.address import Route, route_on


def sms_route(*, line: str, phone: str) -> Route:
    """Return the route of SMS between a line's number and a person's."""
    return route_on("sms", line=line, person=phone)
