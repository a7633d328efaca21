"""The circuit breaker of a tool's service, which all workers share."""

from typing import ClassVar, Self

from skein.models.common.base import Stored, Tenant, key_part
from skein.models.common.breaker import CLOSED, Breaker
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.agent import OwnToolName
from skein.own_tools.models.tool import tools_partition


class ToolBreaker(Stored):
    """The circuit breaker of one service. No item is stored while the service's calls succeed.

    Attributes:
        service: The name of the tool, or of the MCP server whose tools share the breaker.
    """

    PREFIX: ClassVar = SortKeyPrefix("BREAKER#")

    tenant: Tenant
    service: OwnToolName
    breaker: Breaker = CLOSED
    version: int = 0

    @staticmethod
    def key_of(tenant: str, service: str) -> "Key[ToolBreaker]":
        return Key(tools_partition(tenant), f"{ToolBreaker.PREFIX}{key_part(service)}")

    @classmethod
    def from_optional(cls, item: Item | None, tenant: str, service: str) -> Self:
        """Return the breaker that `item` stores, or a closed breaker if `item` is None."""
        return cls.from_item(item) if item else cls(tenant=tenant, service=service)

    @property
    def key(self) -> "Key[ToolBreaker]":
        return self.key_of(self.tenant, self.service)

    def to_item(self) -> Item:
        return self.attributes()
