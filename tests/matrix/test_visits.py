"""The token of a visit opens the calls of its own chat, and nothing else of the API."""

import mobile_api
from tests.matrix.calls import ROUTES, Route
from tests.support.each import check_each
from tests.support.web_chat import Shop, Visitor

ENDING = {"DELETE /v1/visit", "POST /v1/visit/end"}  # tests/handlers/test_visits.py


def test_token_of_a_visit_opens_its_own_calls_and_nothing_else() -> None:
    shop = Shop()
    visitor = Visitor(shop, shop.widget())
    visitor.visit()
    visitor.write()
    chat_id = str(visitor.kept["chat_id"])

    def check(route: Route) -> None:
        path = route.path.replace("{chat_id}", chat_id).replace("{", "").replace("}", "")
        answer = visitor.call(route.method, path, {}, api=route.api)
        if f"{route}".replace("{chat_id}", "*") in mobile_api.VISITS:
            assert answer.status not in {401, 403, 404}, answer.body
        else:
            assert answer.status == 403, answer.body

    guarded = [route for route in ROUTES if not route.public and str(route) not in ENDING]
    assert len(guarded) > len(mobile_api.VISITS)
    check_each({str(route): route for route in guarded}, check)
