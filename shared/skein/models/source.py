"""A service outside that wakes agents when it has something to report: a source of webhooks."""

import re
from typing import Annotated

from pydantic import Field

from skein.models.base import Identifier, Instant, Name, Stored, Tenant, key_part
from skein.models.storage import META, Item, Key

SOURCE_ID = re.compile(r"svc_[0-9A-Za-z]{1,64}")
MAX_SOURCE_AGENTS = 20
MAX_PAYLOAD_BYTES = 64 * 1024


class Source(Stored):
    """A service; the word is `source` in the code, where `service` means something else.

    Attributes:
        agent_ids: Who is woken by each delivery.
        secret: What deliveries are signed with; shown once, when it is made.
    """

    tenant: Tenant
    id: Identifier
    name: Name
    agent_ids: Annotated[tuple[Identifier, ...], Field(min_length=1, max_length=MAX_SOURCE_AGENTS)]
    secret: Annotated[str, Field(min_length=32, repr=False)]
    version: int = 1
    created_at: Instant

    @staticmethod
    def key_of(source_id: str) -> Key:
        """Return the key of a source: not under a tenant, since a webhook knows only the id."""
        return Key(f"SERVICE#{key_part(source_id)}", META)

    @property
    def key(self) -> Key:
        """The key of this source."""
        return self.key_of(self.id)

    def to_item(self) -> Item:
        """Return the source as table attributes, listed under its tenant."""
        return self.attributes() | {"gsi1pk": sources_relation(self.tenant), "gsi1sk": self.id}


def sources_relation(tenant: str) -> str:
    """Return the `gsi1` partition key of a tenant's sources."""
    return f"{key_part(tenant)}#SERVICES"
