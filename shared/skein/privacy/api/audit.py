"""Resources of the HTTP API: the audit log."""

from typing import Annotated

from pydantic import Field

from skein.models.api.base import Id, Page, Resource
from skein.models.common.base import Instant
from skein.privacy.models.audit import AuditKind, AuditScope, AuditVerb


class AuditResource(Resource):
    """One audited access to data of a person or an agent."""

    id: Id
    at: Annotated[Instant, Field(description="When the call was made.")]
    who: Annotated[str, Field(description="The `sub` of the caller's token.")]
    scope: Annotated[AuditScope, Field(description="The scope that the call needs.")]
    verb: Annotated[AuditVerb, Field(description="What the call does.")]
    kind: Annotated[AuditKind, Field(description="The kind of item that the call concerns.")]
    ids: Annotated[
        dict[str, str],
        Field(description="The ids in the call's parameters, and the id of a created item."),
    ]
    route: Annotated[str, Field(description="The method and the path of the call.")]
    refused: Annotated[bool, Field(description="Whether the call was refused with 403.")]
    reason: Annotated[
        str | None, Field(description="Why an operator read a chat; null for other calls.")
    ]
    request_id: Annotated[
        str | None, Field(description="The id of the request, by which the logs are found.")
    ]


class AuditPage(Page[AuditResource]):
    """A page of the audit entries of one day, newest first."""


class AccessResource(Resource):
    """One time that an operator read or changed private content of the caller."""

    id: Id
    at: Annotated[Instant, Field(description="When the operator made the call.")]
    who: Annotated[str, Field(description="The `sub` of the operator's token.")]
    verb: Annotated[AuditVerb, Field(description="What the call does.")]
    kind: Annotated[AuditKind, Field(description="The kind of item that the call concerns.")]
    reason: Annotated[str, Field(description="Why, in the operator's words.")]


class AccessPage(Page[AccessResource]):
    """A page of operators' accesses to the caller's private content, newest first."""
