"""Resources of the HTTP API: the audit log."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import Resource
from skein.models.common.base import Instant
from skein.models.privacy.audit import AuditEntry, AuditKind, AuditScope, AuditVerb


class AuditResource(Resource):
    """One audited access to data of a person or an agent."""

    id: str
    at: Instant
    who: str
    scope: AuditScope
    verb: AuditVerb
    kind: AuditKind
    ids: dict[str, str]
    route: str
    reason: Annotated[
        str | None, Field(description="Why an operator read a chat; null for other calls.")
    ]
    request_id: str | None

    @classmethod
    def of(cls, entry: AuditEntry) -> Self:
        """Build the resource of an audit entry."""
        return cls.model_validate(entry, from_attributes=True)


class AuditPage(Resource):
    """A page of the audit entries of one day, newest first."""

    items: tuple[AuditResource, ...]
    next_cursor: str | None
