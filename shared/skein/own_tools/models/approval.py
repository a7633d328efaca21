"""A call that waits for an operator's decision."""

from datetime import timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from skein.models.common.base import Identifier, Instant, Stored, Tenant, key_part
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.outbox.due import due_pointer
from skein.models.runs.requested_call import RequestedCall

Decision = Literal["approved", "refused"]
DECIDE_WITHIN = timedelta(days=7)


class ToolApproval(Stored):
    """A request for an operator's approval. It refers to the call and contains no arguments.

    Attributes:
        chat_id: The chat of the run that asked. The decision starts a new run in this chat.
        private: Whether the arguments can contain private content.
        decision: The operator's decision, or None while the call waits.
        version: The optimistic lock. Every change raises it.
        expires_at: The time after which no decision is possible, in seconds since 1970.
    """

    PREFIX: ClassVar = SortKeyPrefix("APPROVAL#")

    tenant: Tenant
    id: Identifier
    agent_id: Identifier
    chat_id: Identifier | None = None
    call: RequestedCall
    private: bool
    decision: Decision | None = None
    decided_by: Identifier | None = None
    decided_at: Instant | None = None
    version: int = 1
    created_at: Instant
    expires_at: Annotated[int, Field(ge=0)]

    @staticmethod
    def key_of(tenant: str, approval_id: str) -> "Key[ToolApproval]":
        return Key(approvals_partition(tenant), f"{ToolApproval.PREFIX}{key_part(approval_id)}")

    @property
    def key(self) -> "Key[ToolApproval]":
        return self.key_of(self.tenant, self.id)

    def to_item(self) -> Item:
        """Return the table attributes, with a due pointer as long as no operator has decided."""
        if self.decision is not None:
            return self.attributes()
        return self.attributes() | due_pointer("desk", self.key, self.created_at)


def approvals_partition(tenant: str) -> str:
    return f"{key_part(tenant)}#APPROVALS"
