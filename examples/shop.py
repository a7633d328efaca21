"""A shop's help desk, with the state of orders and returns: `skein run shop.py`."""

from typing import Annotated

from pydantic import Field

from skein.errors import Correctable
from skein.interface.tool import tool
from skein.own_tools.signed_context import CallContext

name = "Hugo"
prompt = """You are Hugo. You help customers of a shop for running shoes. Be polite and brief.
Ask for the order number and the postcode before you look an order up. Never guess its state.
Orders can be returned within 30 days after delivery. You send no money back yourself:
for refunds, complaints, and all that your tools do not answer, ask a person of the team."""

ORDERS = {  # a real one asks your shop
    "1234": {"postcode": "10115", "item": "Trail shoes, 42", "state": "on its way"},
    "5678": {"postcode": "80331", "item": "Road shoes, 39", "state": "delivered", "days": 4},
    "9012": {"postcode": "20095", "item": "Socks", "state": "delivered", "days": 45},
}
RETURNS: dict[str, str] = {}  # reasons, by order

Order = Annotated[str, Field(description="The number of the order, such as 1234.")]
Postcode = Annotated[str, Field(description="The postcode to which it was sent.")]


def found(order: str, postcode: str) -> dict[str, object]:
    """Return an order, which only somebody who knows its postcode may see."""
    if order not in ORDERS or ORDERS[order]["postcode"] != postcode:
        raise Correctable(
            "There is no such order with this postcode. Ask the person to check both."
        )
    return dict(ORDERS[order])


@tool(effect="read")
def order_status(call: CallContext, order: Order, postcode: Postcode) -> str:
    """Look up what is in an order, and where it is."""
    state = "being returned" if order in RETURNS else found(order, postcode)["state"]
    return f"{found(order, postcode)['item']}: {state}."


@tool(effect="save")
def return_order(call: CallContext, order: Order, postcode: Postcode, reason: str) -> str:
    """Announce the return of a delivered order. Skein asks the person before."""
    days = found(order, postcode).get("days")
    if days is None:
        raise Correctable("The order is not delivered yet, so it cannot be returned.")
    if int(str(days)) > 30:  # noqa: PLR2004, the days of the prompt
        raise Correctable("The order was delivered over 30 days ago. Ask a person of the team.")
    RETURNS[order] = reason
    return f"The return is announced. The label is at https://shop.example/returns/{order}."
