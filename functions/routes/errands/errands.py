"""Routes of errands, for operators (function `admin_api`)."""

from routes.app import Limit, PageCursor
from routes.audited import note_seen
from routes.router import ApiRouter
from routes.scope import WhyPrivate, sees_private
from skein.bootstrap import app, service
from skein.errands.api import ErrandPage, ErrandResource
from skein.errands.views import ErrandViews
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("errands", "errand", role="support")


@router.get("/v1/errands", "List the tenant's errands, newest first")
def list_errands(
    *, reason: WhyPrivate = None, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> ErrandPage:
    """Without the role `privacy` and a reason, texts of errands in private chats are withheld."""
    caller = router.caller
    private = sees_private(caller, reason)
    page = service(ErrandViews).of_tenant(caller.tenant, limit=limit, cursor=cursor)
    now = app().ports.clock.now()
    for errand in page.items:
        if private and not errand.audience.open:
            note_seen({errand.asked_by.id, errand.asked.id})
    items = tuple(
        ErrandResource.shown(errand, now, words=private or errand.audience.open)
        for errand in page.items
    )
    return ErrandPage(items=items, next_cursor=page.next_cursor)
