"""Every API route is audited according to its method, or declares why it is not."""

from typing import Any

import admin_api
import mobile_api
from routes.audited import Audited, Unaudited
from tests.support.each import check_each

ROUTES = {
    f"{route.method} {route.openapi_path}": route
    for api in (mobile_api.api, admin_api.api)
    for route in api.routes
}


def test_every_route_is_audited_or_declares_why_not() -> None:
    """`ApiRouter` audits each route: by its method, or as the option `audit` says."""
    check_each(ROUTES, _check_audited)


def _check_audited(route: Any) -> None:
    said = [each for each in route.middlewares if isinstance(each, Audited | Unaudited)]
    assert len(said) == 1, "not audited: register it with an `ApiRouter`"
    if isinstance(said[0], Unaudited):
        assert said[0].why
        return
    verbs = {"GET": {"read"}, "DELETE": {"delete"}, "PATCH": {"change"}, "PUT": {"change"}}
    assert said[0].verb in verbs.get(route.method, {"create", "change"})


def test_every_operator_call_leaves_an_audit_entry() -> None:
    routes = admin_api.api.routes
    assert not [
        route.path
        for route in routes
        if any(isinstance(each, Unaudited) for each in route.middlewares)
    ]
