"""Event endpoints: addresses of services that receive events."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, Field

from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part
from skein.models.common.json_types import JsonBool
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.own_tools.models.tool import service_url
from skein.own_tools.signed_context import secret_of

EventType = Literal[
    "message.created",
    "run.ended",
    "delivery.changed",
    "choice.answered",
    "member.changed",
    "memory.changed",
    "help.requested",
    "help.ended",
    "approval.requested",
    "erasure.done",
    "limit.reached",
    "source.failing",
]

EndpointKind = Literal["url", "bus"]

MAX_ENDPOINTS = 10
BUS_URL = "https://events.amazonaws.com/"  # shown for a bus; release 0.3.0 needs a URL
MAX_URL = 2_000


def _each_once(types: tuple[EventType, ...]) -> tuple[EventType, ...]:
    return tuple(dict.fromkeys(types))


EndpointUrl = Annotated[
    str,
    Field(min_length=1, max_length=MAX_URL, description="Where events are posted, by https."),
    AfterValidator(service_url),
]
EventTypes = Annotated[
    tuple[EventType, ...],
    Field(min_length=1, max_length=20, description="The types of events that are sent."),
    AfterValidator(_each_once),
]


class EndpointFields(BaseModel):
    """The fields of an endpoint that operators set."""

    kind: Annotated[
        EndpointKind,
        Field(
            description="Where events go: to a `url`, or to the `bus` of EventBridge that the "
            "deployment names."
        ),
    ] = "url"
    types: EventTypes
    words: Annotated[
        JsonBool,
        Field(description="Whether events hold the words of messages and memories."),
    ] = False
    enabled: Annotated[
        JsonBool,
        Field(description="Whether events are sent. What waits is dropped if not."),
    ] = True


class EventEndpoint(EndpointFields, Stored):
    """An address to which a tenant's events are sent, or the deployment's bus.

    Attributes:
        nonce: A random text. If no operator gave a secret, the secret that signs events is derived
            from the nonce and from the key that all services share, which is not in the table.
        sealed: The secret that an operator gave, encrypted. None if the secret is derived.
        secret: The plain secret. It is set only right after it was created, and it is never stored.
    """

    PREFIX: ClassVar = SortKeyPrefix("ENDPOINT#")

    tenant: Tenant
    id: Identifier
    url: EndpointUrl
    nonce: Annotated[str, Field(min_length=32, repr=False)]
    sealed: Annotated[str | None, Field(repr=False)] = None
    secret: Annotated[str, Field(exclude=True, repr=False)] = ""
    version: int = 1
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, endpoint_id: str) -> "Key[EventEndpoint]":
        return Key(endpoints_partition(tenant), f"{EventEndpoint.PREFIX}{key_part(endpoint_id)}")

    @property
    def key(self) -> "Key[EventEndpoint]":
        return self.key_of(self.tenant, self.id)

    def secret_by(self, key: str) -> str:
        """Return the secret that signs events.

        Args:
            key: The key that all services share.
        """
        return secret_of(self.nonce, key=key, sealed=self.sealed)

    def to_item(self) -> Item:
        return self.attributes()


def endpoints_partition(tenant: str) -> str:
    return f"{key_part(tenant)}#ENDPOINTS"
