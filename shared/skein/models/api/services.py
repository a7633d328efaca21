"""Services that wake agents, as the HTTP API shows them (DESIGN section 7)."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field

from skein.models.api.base import EntityId, Request, Resource
from skein.models.common.base import Instant, Name
from skein.models.directory.source import MAX_SOURCE_AGENTS, Source


def _each_once(ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))


AgentIds = Annotated[
    tuple[EntityId, ...],
    Field(min_length=1, max_length=MAX_SOURCE_AGENTS, description="Who is woken."),
    AfterValidator(_each_once),
]


class NewService(Request):
    """A service to be registered."""

    name: Name
    agent_ids: AgentIds


class ServiceChange(Request):
    """What of a service is to change; left out or null, a field stays."""

    name: Name | None = None
    agent_ids: AgentIds | None = None


class ServiceResource(Resource):
    """A service that wakes agents by webhooks."""

    id: str
    name: str
    agent_ids: tuple[str, ...]
    created_at: Instant

    @classmethod
    def of(cls, source: Source) -> Self:
        """The resource of a service."""
        return cls.model_validate(source, from_attributes=True)


class ServiceWithSecret(ServiceResource):
    """A service with a new secret, which is shown this once."""

    secret: Annotated[
        str, Field(description="Sign with it: hex HMAC-SHA256 of `t.body`, as its text stands.")
    ]


class ServicePage(Resource):
    """A page of services, the oldest first."""

    items: tuple[ServiceResource, ...]
    next_cursor: str | None
