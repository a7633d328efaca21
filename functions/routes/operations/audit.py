"""Route of the audit log, for operators (function `admin_api`)."""

from routes.app import ApiRouter, Day, Limit, PageCursor, documented
from routes.audited import reads
from skein.bootstrap.api import services
from skein.models.api.audit import AuditPage, AuditResource
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter()


@router.get(
    "/v1/audit",
    summary="List a day's audit entries, newest first",
    tags=["audit"],
    responses=documented(200, AuditPage, 400),
    middlewares=reads("audit"),
)
def list_audit(
    day: Day = None, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> AuditPage:
    """Entries contain ids only. This request is audited, too."""
    page = services().audit.of_day(router.caller.tenant, day=day, limit=limit, cursor=cursor)
    return AuditPage(items=tuple(map(AuditResource.of, page.items)), next_cursor=page.next_cursor)
