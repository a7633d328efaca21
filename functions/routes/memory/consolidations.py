"""Routes of consolidations of chats, for operators (function `admin_api`)."""

from routes.app import ApiRouter, ChatId, Limit, PageCursor, documented
from routes.audited import changes, reads
from skein.bootstrap.api import services
from skein.models.api.consolidations import (
    ConsolidationPage,
    ConsolidationResource,
    RequestedResource,
)
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter()


@router.post(
    "/v1/chats/<chat_id>/consolidate",
    summary="Consolidate a chat now",
    tags=["chats"],
    status_code=202,
    responses=documented(202, RequestedResource, 400, 404, 409, 413),
    middlewares=changes("chat"),
)
def consolidate_chat(chat_id: ChatId) -> RequestedResource:
    """This works for active chats, and for chats whose consolidation is off."""
    requested = services().consolidation_requests.request(router.caller.tenant, chat_id)
    return RequestedResource.model_validate(requested, from_attributes=True)


@router.get(
    "/v1/chats/<chat_id>/consolidations",
    summary="List a chat's consolidations, newest first",
    tags=["chats"],
    responses=documented(200, ConsolidationPage, 400, 404),
    middlewares=reads("chat"),
)
def list_consolidations(
    chat_id: ChatId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> ConsolidationPage:
    """The list includes failures. Records are stored for 90 days and contain no memories."""
    page = services().consolidation_requests.history(
        router.caller.tenant, chat_id, limit=limit, cursor=cursor
    )
    items = tuple(map(ConsolidationResource.of, page.items))
    return ConsolidationPage(items=items, next_cursor=page.next_cursor)
