"""The HTTP API's requests and resources for webhook services."""

from typing import Annotated

from pydantic import ConfigDict, Field

from skein.models.api.base import (
    EXAMPLE_AGENT,
    ChangeRequest,
    CreatedAt,
    Id,
    OptionalName,
    Page,
    Request,
    Resource,
)
from skein.models.common.base import NamedModel
from skein.models.directory.webhook_service import AgentIds


class NewService(NamedModel, Request):
    """A new webhook service."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"name": "shop", "agent_ids": [EXAMPLE_AGENT]}}
    )

    agent_ids: AgentIds


class ServiceChange(ChangeRequest):
    """Changes to a service. Omitted and null fields stay unchanged."""

    name: OptionalName = None
    agent_ids: AgentIds | None = None


class ServiceResource(NamedModel, Resource):
    """A webhook service, whose signed webhooks start runs of agents."""

    id: Id
    agent_ids: AgentIds
    created_at: CreatedAt


class ServiceWithSecret(ServiceResource):
    """A service with a new secret. The secret is shown only once."""

    secret: Annotated[
        str,
        Field(description="Key, as plain text, of the signature: hex HMAC-SHA256 of `t.body`."),
    ]


class ServicePage(Page[ServiceResource]):
    """A page of services, oldest first."""
