"""Route with which operators read a chat, with a reason (function `admin_api`)."""

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query

from routes.app import After, Before, ChatId, Limit, MediaId, PageCursor
from routes.audited import note_seen
from routes.router import ApiRouter
from routes.scope import check_private
from skein.bootstrap import app, service
from skein.media.api import MediaLinkResource
from skein.media.uploads import MediaUploads
from skein.models.api.chats import (
    ChatMemberResource,
    ListedChatPage,
    MessageResource,
    TranscriptPage,
)
from skein.privacy.models.audit import MAX_REASON, MIN_REASON
from skein.services.chats.posted_media import files_of
from skein.services.chats.views import ChatViews
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("messages", "chat", role="support")

WhyRead = Annotated[
    str,
    Query(
        min_length=MIN_REASON,
        max_length=MAX_REASON,
        pattern=r"\S",
        description="Why the operator reads the chat. The audit log keeps it.",
    ),
]


@router.get("/v1/transcripts", "List the tenant's chats, newest first")
def list_transcripts(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> ListedChatPage:
    """Open, private and discarded chats, sorted by the hour of their newest message.

    The list has no titles or texts. To read a chat, call `GET /v1/transcripts/{chat_id}`.
    """
    page = service(ChatViews).tenant_chats(router.caller.tenant, limit=limit, cursor=cursor)
    return ListedChatPage.of(page)


@router.get(
    "/v1/transcripts/<chat_id>",
    "Read a chat as an operator, with a reason",
    audit="message",
    instead="privacy",
)
def read_transcript(
    chat_id: ChatId,
    reason: WhyRead,
    *,
    after: After = None,
    before: Before = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> TranscriptPage:
    """The reason is written to the audit log. A setting of the tenant can forbid this call.

    A private chat requires the role `privacy`; for an open chat, `support` is enough. Pages work as
    in `GET /v1/chats/{chat_id}/messages`. The call moves no read marks.
    """
    now = app().ports.clock.now()
    chat, page = service(ChatViews).transcript(
        router.caller.tenant, chat_id, after=after, before=before, limit=limit, cursor=cursor
    )
    if chat.visibility == "private":
        check_private(router.caller, reason)
        note_seen(chat.person_ids)
    files = files_of(app().ports.table, page.items)
    return TranscriptPage(
        items=tuple(MessageResource.of(message, now, files) for message in page.items),
        next_cursor=page.next_cursor,
        title=chat.title,
        kind=chat.kind,
        visibility=chat.visibility,
        members=ChatMemberResource.all_of(chat),
    )


@router.get(
    "/v1/transcripts/<chat_id>/media/<media_id>",
    "Get a link to an image or file as an operator, with a reason",
    409,
    audit="message",
    instead="privacy",
)
def read_media(chat_id: ChatId, media_id: MediaId, reason: WhyRead) -> MediaLinkResource:
    """Requires the same rights as reading the chat. The URL works for five minutes."""
    tenant = router.caller.tenant
    chat, _ = service(ChatViews).transcript(tenant, chat_id, limit=1)
    if chat.visibility == "private":
        check_private(router.caller, reason)
        note_seen(chat.person_ids)
    link = service(MediaUploads).link_in(tenant, chat_id, media_id)
    return MediaLinkResource(url=link.url, expires_at=link.ends_at)
