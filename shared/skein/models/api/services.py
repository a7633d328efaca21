"""Requests and resources of the HTTP API: webhook services."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field

from skein.models.api.base import EntityId, Request, Resource
from skein.models.common.base import Instant, Name
from skein.models.directory.webhook_service import MAX_SERVICE_AGENTS, WebhookService


def _each_once(ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))


AgentIds = Annotated[
    tuple[EntityId, ...],
    Field(
        min_length=1,
        max_length=MAX_SERVICE_AGENTS,
        description="The agents whose runs the service starts.",
    ),
    AfterValidator(_each_once),
]


class NewService(Request):
    """A new webhook service."""

    name: Name
    agent_ids: AgentIds


class ServiceChange(Request):
    """Changes to a service. Omitted and null fields stay unchanged."""

    name: Name | None = None
    agent_ids: AgentIds | None = None


class ServiceResource(Resource):
    """A webhook service, whose signed webhooks start runs of agents."""

    id: str
    name: str
    agent_ids: tuple[str, ...]
    created_at: Instant

    @classmethod
    def of(cls, service: WebhookService) -> Self:
        """Build the resource of a service."""
        return cls.model_validate(service, from_attributes=True)


class ServiceWithSecret(ServiceResource):
    """A service with a new secret. The secret is shown only once."""

    secret: Annotated[
        str,
        Field(description="Key, as plain text, of the signature: hex HMAC-SHA256 of `t.body`."),
    ]


class ServicePage(Resource):
    """A page of services, oldest first."""

    items: tuple[ServiceResource, ...]
    next_cursor: str | None
