"""Routes of consolidations of chats, for operators (function `admin_api`)."""

from routes.app import ChatId, Limit, PageCursor
from routes.router import ApiRouter
from skein.bootstrap import service
from skein.memory.api.consolidations import (
    ConsolidationPage,
    RequestedResource,
)
from skein.memory.history import BackgroundRecords, ConsolidationRequests
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("chats", "chat", role="support")


@router.post("/v1/chats/<chat_id>/consolidate", "Consolidate a chat now", 409, status=202)
def consolidate_chat(chat_id: ChatId) -> RequestedResource:
    """The chat may still be active, and its consolidation may be turned off."""
    requested = service(ConsolidationRequests).request(router.caller.tenant, chat_id)
    return RequestedResource.model_validate(requested, from_attributes=True)


@router.get("/v1/chats/<chat_id>/consolidations", "List a chat's consolidations, newest first")
def list_consolidations(
    chat_id: ChatId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> ConsolidationPage:
    """The list includes failures. Records are stored for 90 days and contain no memories."""
    page = service(BackgroundRecords).of_chat(
        router.caller.tenant, chat_id, limit=limit, cursor=cursor
    )
    return ConsolidationPage.of(page)
