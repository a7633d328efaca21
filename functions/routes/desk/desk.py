"""Routes with which team members take chats over and answer in them (function `admin_api`)."""

from aws_lambda_powertools.event_handler import Response

from routes.app import After, Before, ChatId, Limit, PageCursor
from routes.router import ApiRouter, no_content
from routes.scope import WhyPrivate, check_chat
from skein.bootstrap import app, service
from skein.desk.api import (
    DeskList,
    DeskResource,
    DraftRequest,
    DraftResource,
    NewHolder,
    NewTeamMessage,
    Return,
)
from skein.desk.drafts import Drafts
from skein.desk.messages import TeamMessages
from skein.desk.queue import DeskQueue
from skein.desk.returning import Returns
from skein.desk.taking import Taking
from skein.desk.waiting import WaitingStays
from skein.models.api.chats import MessagePage, MessageResource
from skein.models.chats.desk import Holder
from skein.services.chat_state.desk_stays import DeskRequest
from skein.services.chats.desk_requests import DeskRequests
from skein.services.chats.posted_media import files_of
from skein.services.chats.views import ChatViews
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("desk", "desk", role="support")


@router.get("/v1/desk", "List the chats on the desk", instead="privacy", polled=True)
def list_desk() -> DeskList:
    """Chats that wait for a team member come first, oldest first. At most 200 are listed.

    The list has no titles or texts of chats. Only the holder of a chat is shown the summary of the
    request.
    """
    caller = router.caller
    found = service(DeskQueue).list(caller.tenant)
    items = (DeskResource.shown(each.chat, each.stay, to=caller.user_id) for each in found)
    return DeskList(items=tuple(items), next_cursor=None)


@router.get("/v1/chats/<chat_id>/desk", "Get a chat on the desk", instead="privacy", polled=True)
def get_desk(chat_id: ChatId) -> DeskResource:
    """Returns the chat's current stay at the desk: who asked for it, and who holds the chat.

    If the chat is not on the desk, the status is 404, and `details` say who held the chat last, and
    how that stay ended.
    """
    return _shown(chat_id)


@router.post(
    "/v1/chats/<chat_id>/desk",
    "Add a chat to the desk",
    409,
    instead="privacy",
    repeated="The chat is on the desk already, and stays as it is.",
)
def request_person(chat_id: ChatId, reason: WhyPrivate = None) -> tuple[DeskResource, int]:
    """Agents answer until a team member takes the chat over. The chat's people get one notice.

    A private chat requires the role `privacy` and a reason.
    """
    caller = router.caller
    check_chat(caller, chat_id, reason)
    asked = service(DeskRequests).ask(
        caller.tenant,
        chat_id,
        DeskRequest(reason_code="operator"),
        cause=f"operator:{app().ports.ids.ulid()}",
    )
    return _shown(chat_id), 200 if asked.before else 201


@router.put("/v1/chats/<chat_id>/desk", "Take a chat over", 409, instead="privacy")
def take_over(chat_id: ChatId, body: NewHolder, reason: WhyPrivate = None) -> DeskResource:
    """Agents are silent in the chat until it is handed back. Runs that are writing are stopped.

    The chat need not be on the desk. A private chat requires the role `privacy` and a reason. If
    somebody else holds the chat, the answer is 409, and `details` name the holder. The call is
    idempotent. Until the chat is handed back, the holder may read it without giving another reason.
    People see the take-over in the list of accesses to their private chats.
    """
    caller = router.caller
    check_chat(caller, chat_id, reason)
    holder = Holder(id=caller.user_id, name=body.name or caller.name)
    service(Taking).take(caller.tenant, chat_id, holder)
    return _shown(chat_id)


@router.delete("/v1/chats/<chat_id>/desk", "Hand a chat back", 400, 409, 413, instead="privacy")
def hand_back(chat_id: ChatId, body: Return) -> Response[None]:
    """Agents answer again. First, they answer the messages of people that have no answer yet.

    The agents' next prompts show the briefing; people never see it. With `dismiss`, a waiting chat
    leaves the desk without being taken over. The call is idempotent.
    """
    caller = router.caller
    if body.dismiss:
        service(WaitingStays).dismiss(caller.tenant, chat_id)
    else:
        service(Returns).hand_back(caller.tenant, chat_id, caller.user_id, body.briefing)
    return no_content()


@router.get(
    "/v1/chats/<chat_id>/desk/messages",
    "List messages of a chat that you have taken over",
    409,
    audit="message",
    instead="privacy",
    polled=True,
)
def list_held_messages(
    chat_id: ChatId,
    *,
    after: After = None,
    before: Before = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> MessagePage:
    """Pages work as in `GET /v1/chats/{chat_id}/messages`. The call moves no read marks."""
    caller = router.caller
    service(DeskQueue).held_by(caller.tenant, chat_id, caller.user_id)
    _, page = service(ChatViews).transcript(
        caller.tenant, chat_id, after=after, before=before, limit=limit, cursor=cursor
    )
    files = files_of(app().ports.table, page.items)
    return MessagePage.of(page, app().ports.clock.now(), files)


@router.post(
    "/v1/chats/<chat_id>/desk/messages",
    "Post a message as the team",
    409,
    audit="message",
    instead="privacy",
    repeated="The message already exists.",
)
def post_team_message(chat_id: ChatId, new: NewTeamMessage) -> tuple[MessageResource, int]:
    """Only the holder of the chat can post, under their own name. An SMS also names the team.

    Repeating a `client_id` returns the existing message (idempotent).
    """
    caller = router.caller
    posted = service(TeamMessages).post(
        caller.tenant, chat_id, caller.user_id, new.text, new.client_id
    )
    message = MessageResource.of(posted.message, app().ports.clock.now())
    return message, 201 if posted.created else 200


@router.post(
    "/v1/chats/<chat_id>/desk/drafts",
    "Draft an answer, a briefing or a summary",
    409,
    status=200,
    instead="privacy",
)
def make_draft(chat_id: ChatId, body: DraftRequest) -> DraftResource:
    """An agent of the chat writes the draft; the holder edits and sends it.

    The model is shown only the current session of this chat. The draft is not posted or stored;
    only the usage is stored.
    """
    caller = router.caller
    draft = service(Drafts).draft(
        caller.tenant, chat_id, caller.user_id, body.kind, agent_id=body.agent_id
    )
    return DraftResource.of(draft)


def _shown(chat_id: str) -> DeskResource:
    caller = router.caller
    entry = service(DeskQueue).get(caller.tenant, chat_id)
    return DeskResource.shown(entry.chat, entry.stay, to=caller.user_id)
