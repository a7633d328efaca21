"""Route of the audit log, for operators (function `admin_api`)."""

from routes.app import Day, Limit, PageCursor
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.privacy.api.audit import AuditPage
from skein.privacy.audit_log import AuditLog
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("audit", "audit", role="privacy")


@router.get("/v1/audit", "List a day's audit entries, newest first")
def list_audit(
    day: Day = None, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> AuditPage:
    """Entries contain ids only. This request is audited, too."""
    page = service(AuditLog).of_day(router.caller.tenant, day=day, limit=limit, cursor=cursor)
    return AuditPage.of(page)
