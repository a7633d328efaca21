"""All pages, with what a test needs to open each. A page without an entry fails a test."""

from dataclasses import dataclass

from tests.console.driver import Driver


@dataclass(frozen=True)
class Place:
    """A page at an address.

    Attributes:
        name: The name of the page.
        address: Its address, after `/console/`.
        signed_in: Whether the page needs a token.
    """

    name: str
    address: str
    signed_in: bool = True

    def open(self, driver: Driver, tenant: str = "demo") -> None:
        """Open the page, as an operator of a tenant if it needs a token."""
        if self.signed_in:
            driver.open_as_operator(self.address, tenant=tenant)
        else:
            driver.open(self.address)


PLACES = (
    Place("home", "#/home"),
    Place("phone", "#/phone/sms", signed_in=False),
    Place("phone", "#/phone/app", signed_in=False),
    Place("chats", "#/chats"),
    Place("agent", "#/agent"),
    Place("tools", "#/tools"),
    Place("why", "#/why"),
    Place("usage", "#/usage"),
    Place("audit", "#/audit"),
    Place("settings", "#/settings"),
    Place("people", "#/people"),
    Place("sharing", "#/sharing"),
    Place("desk", "#/desk"),
    Place("desk", "#/desk/answers"),
    Place("transcripts", "#/transcripts"),
    Place("errands", "#/errands"),
    Place("knowledge", "#/knowledge"),
    Place("widgets", "#/widgets"),
    Place("time", "#/time", signed_in=False),
    Place("tour", "#/tour", signed_in=False),
)
