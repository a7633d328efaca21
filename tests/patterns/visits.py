"""Calls of a web page: the visit that it opens, and what its visitor writes."""

from tests.patterns.meter import Meter, Patterns
from tests.support.web_chat import Shop, Visitor

patterns = Patterns()


def visitor() -> Visitor:
    shop = Shop()
    return Visitor(shop, shop.widget())


@patterns.named("open a visit")
def _open(meter: Meter) -> None:
    caller = visitor()
    with meter(caller.shop):
        assert caller.visit().status == 201


@patterns.named("post the first message of a visit")
def _first(meter: Meter) -> None:
    caller = visitor()
    caller.visit()
    with meter(caller.shop):
        assert caller.write().status == 201


@patterns.named("post a message of a visit")
def _message(meter: Meter) -> None:
    caller = visitor()
    caller.visit()
    caller.write()
    with meter(caller.shop):
        assert caller.write(client_id="c2").status == 201


@patterns.named("renew a visit")
def _renew(meter: Meter) -> None:
    caller = visitor()
    caller.visit()
    caller.write()
    with meter(caller.shop):
        assert caller.visit(renewal=caller.kept["renewal"]).status == 201
