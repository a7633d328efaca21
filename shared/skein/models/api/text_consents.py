"""Requests and resources of the HTTP API: consents that agents may text a person first."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, StringConstraints

from skein.models.api.base import Page, Request, Resource
from skein.models.common.address import Address, ChannelName
from skein.models.common.base import Instant
from skein.models.directory.address_index import ChannelConsents, ConsentSource, TextConsent


class NewTextConsent(Request):
    """A consent that an operator records."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"proof": "Ticked the box in the sign-up form of 3 February"}}
    )

    proof: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=500),
        Field(description="Where and how the person consented."),
    ]


class TextConsentResource(Resource):
    """A person's consent that agents may text the person first, on a number and a channel."""

    phone: Annotated[str, Field(description="The number in E.164.")]
    channel: Annotated[ChannelName, Field(description="The channel of the texts.")]
    at: Annotated[Instant, Field(description="When the consent was given.")]
    how: Annotated[
        ConsentSource,
        Field(
            description="Recorded by an `operator`, by the keyword `start`, or by the `person` in "
            "the app."
        ),
    ]
    by: Annotated[str, Field(description="The id of the operator or the person.")]
    proof: Annotated[
        str | None, Field(description="Where and how the person consented; null without operator.")
    ]

    @classmethod
    def on_number(cls, address: Address, channel: str, consent: TextConsent) -> Self:
        return cls(phone=address.address, channel=channel, **dict(consent))


class TextConsentPage(Page[TextConsentResource]):
    """The consents on one number, in one page."""

    @classmethod
    def on_address(cls, address: Address, consents: ChannelConsents) -> Self:
        """Build the page of a number's consents, by channel."""
        shown = (
            TextConsentResource.on_number(address, channel, consents[channel])
            for channel in sorted(consents)
        )
        return cls(items=tuple(shown), next_cursor=None)
