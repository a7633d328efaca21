"""Resources of the HTTP API: the audit log."""

from typing import Annotated

from pydantic import Field

from skein.models.api.base import Page, Resource
from skein.models.common.base import Instant
from skein.models.privacy.audit import AuditKind, AuditScope, AuditVerb


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


class AuditPage(Page[AuditResource]):
    """A page of the audit entries of one day, newest first."""
