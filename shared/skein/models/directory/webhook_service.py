"""Webhook services, which trigger agents; the code calls them sources."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from skein.models.common.base import (
    EntityId,
    Identifier,
    Instant,
    NamedModel,
    Stored,
    Tenant,
    key_part,
)
from skein.models.common.storage import META, Item, Key

SERVICE_ID = re.compile(r"svc_[0-9A-Za-z]{1,64}")
MAX_SERVICE_AGENTS = 20
MAX_PAYLOAD_BYTES = 64 * 1024


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


class WebhookService(NamedModel, Stored):
    """A webhook service.

    The code calls it a source, since `service` has another meaning in the code.

    Attributes:
        nonce: The random part of the secret that signs webhooks. The other part is a key that all
            services share and that is not in the table.
        secret: The secret of a service that was just created, to be shown once; otherwise empty. It
            is never stored.
    """

    tenant: Tenant
    id: Identifier
    agent_ids: AgentIds
    nonce: Annotated[str, Field(min_length=32, repr=False)]
    secret: Annotated[str, Field(exclude=True, repr=False)] = ""
    version: int = 1
    created_at: Instant

    @staticmethod
    def key_of(source_id: str) -> "Key[WebhookService]":
        """Return the key of a source; it has no tenant, since a webhook knows only the id."""
        return Key(f"SERVICE#{key_part(source_id)}", META)

    @property
    def key(self) -> "Key[WebhookService]":
        return self.key_of(self.id)

    def to_item(self) -> Item:
        """Return the source's table attributes, with the index keys of the tenant's list."""
        return self.attributes() | {"gsi1pk": services_relation(self.tenant), "gsi1sk": self.id}


def services_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's sources."""
    return f"{key_part(tenant)}#SERVICES"
