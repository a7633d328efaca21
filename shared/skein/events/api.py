"""Requests and resources of the HTTP API: event endpoints."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from skein.events.models.endpoint import EndpointFields, EndpointUrl, EventType, EventTypes
from skein.events.models.event import ParkedEvent
from skein.models.api.base import ChangeRequest, CreatedAt, Id, Page, Request, Resource
from skein.models.common.base import Instant
from skein.models.common.json_types import JsonBool
from skein.own_tools.signed_context import given_secret

MAX_SECRET = 100
GivenSecret = Annotated[str, AfterValidator(given_secret)]

EXAMPLE: dict[str, Any] = {
    "url": "https://shop.example/events",
    "types": ["message.created", "run.ended"],
}


class NewEndpoint(EndpointFields, Request):
    """A new event endpoint."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

    url: EndpointUrl | None = None
    secret: Annotated[
        GivenSecret | None,
        Field(
            max_length=MAX_SECRET,
            repr=False,
            description="Key that signs each event: `whsec_` and the base64 of 24 to 64 bytes. "
            "Skein makes one if it is null.",
        ),
    ] = None

    @model_validator(mode="after")
    def _has_one_address(self) -> Self:
        if (self.url is None) != (self.kind == "bus"):
            raise ValueError("an endpoint of the kind `url` needs a url, and a bus has none")
        return self


class EndpointChange(ChangeRequest):
    """Changes to an event endpoint. Omitted and null fields stay unchanged."""

    model_config = ConfigDict(json_schema_extra={"example": {"enabled": False}})

    url: EndpointUrl | None = None
    types: EventTypes | None = None
    words: Annotated[JsonBool | None, Field(description="Whether events hold words.")] = None
    enabled: Annotated[JsonBool | None, Field(description="Whether events are sent.")] = None


class EndpointResource(EndpointFields, Resource):
    """An event endpoint, to which Skein sends events."""

    id: Id
    url: EndpointUrl
    created_at: CreatedAt


class EndpointWithSecret(EndpointResource):
    """An event endpoint with its secret, which is shown only once."""

    secret: Annotated[str, Field(description="Key that signs each event.")]


class EndpointPage(Page[EndpointResource]):
    """A page of event endpoints, oldest first."""


class ParkedEventResource(Resource):
    """An event that could not be delivered for a day."""

    id: Id
    type: Annotated[EventType, Field(description="What has happened.")]
    data: Annotated[dict[str, Any], Field(description="Ids and states.")]
    error: Annotated[str, Field(description="Why the last try failed.")]
    at: Annotated[Instant, Field(description="When it happened.")]
    parked_at: Annotated[Instant, Field(description="When it was given up.")]

    @classmethod
    def of(cls, source: ParkedEvent, /) -> "ParkedEventResource":
        event = source.event
        return cls(
            id=event.id,
            type=event.type,
            data=event.data,
            error=source.error,
            at=event.at,
            parked_at=source.parked_at,
        )


class ParkedEventPage(Page[ParkedEventResource]):
    """A page of parked events, oldest first."""


class RedeliveredCount(Resource):
    """How many parked events are sent again."""

    redelivered: Annotated[int, Field(description="The number of events, at most 50 a call.")]
