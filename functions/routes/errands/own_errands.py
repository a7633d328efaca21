"""Routes of the errands that agents carry out for the caller."""

from routes.app import Limit, PageCursor
from routes.audited import Unaudited
from routes.router import ApiRouter
from skein.bootstrap import app, service
from skein.errands.api import ErrandPage, ErrandResource
from skein.errands.views import ErrandViews
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("errands", "errand")


@router.get(
    "/v1/me/errands",
    "List the caller's errands, newest first",
    audit=Unaudited("the caller reads their own data"),
)
def list_own_errands(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> ErrandPage:
    """An errand stays open until it is answered or its deadline has passed."""
    caller = router.caller
    page = service(ErrandViews).of_person(caller.tenant, caller.user_id, limit=limit, cursor=cursor)
    now = app().ports.clock.now()
    items = tuple(ErrandResource.shown(errand, now) for errand in page.items)
    return ErrandPage(items=items, next_cursor=page.next_cursor)
