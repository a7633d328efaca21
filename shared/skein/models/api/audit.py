"""How the API shows who read or changed what."""

from typing import Self

from skein.models.api.base import Resource
from skein.models.common.base import Instant
from skein.models.privacy.audit import AuditEntry, AuditKind, AuditScope, AuditVerb


class AuditResource(Resource):
    """One entry of the audit: who did what to what, and when."""

    id: str
    at: Instant
    who: str
    scope: AuditScope
    verb: AuditVerb
    kind: AuditKind
    ids: dict[str, str]
    route: str
    request_id: str | None

    @classmethod
    def of(cls, entry: AuditEntry) -> Self:
        """As it is shown."""
        return cls.model_validate(entry, from_attributes=True)


class AuditPage(Resource):
    """A page of a day's entries, the newest first."""

    items: tuple[AuditResource, ...]
    next_cursor: str | None
