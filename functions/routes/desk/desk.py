"""Routes with which people of the team take chats over and answer there (function `admin_api`)."""

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
    """Chats that wait for a person of the team come first, oldest first; at most 200 are listed.

    The list has no words of chats. Only the holder of a chat is shown the summary of the request.
    """
    caller = router.caller
    found = service(DeskQueue).list(caller.tenant)
    items = (DeskResource.shown(each.chat, each.stay, to=caller.user_id) for each in found)
    return DeskList(items=tuple(items), next_cursor=None)


@router.get("/v1/chats/<chat_id>/desk", "Get a chat on the desk", instead="privacy", polled=True)
def get_desk(chat_id: ChatId) -> DeskResource:
    """If it is not there, 404 tells in `details` who held the chat last, and how that ended."""
    return _shown(chat_id)


@router.post(
    "/v1/chats/<chat_id>/desk",
    "Add a chat to the desk",
    409,
    instead="privacy",
    repeated="The chat is on the desk already, and stays as it is.",
)
def request_person(chat_id: ChatId, reason: WhyPrivate = None) -> tuple[DeskResource, int]:
    """Agents answer until somebody takes the chat over. People are told once.

    A private chat takes the role `privacy` and a reason.
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
    """Agents are silent in the chat until its return; runs that were writing are stopped.

    The chat need not be on the desk. A private chat takes the role `privacy` and a reason. If
    somebody else holds the chat, the answer is 409, and `details` name them. The call is
    idempotent. The holder may read the chat until its return, without another reason: people see
    the take-over among those who have seen their chats.
    """
    caller = router.caller
    check_chat(caller, chat_id, reason)
    holder = Holder(id=caller.user_id, name=body.name or caller.name)
    service(Taking).take(caller.tenant, chat_id, holder)
    return _shown(chat_id)


@router.delete("/v1/chats/<chat_id>/desk", "Hand a chat back", 400, 409, 413, instead="privacy")
def hand_back(chat_id: ChatId, body: Return) -> Response[None]:
    """Agents answer again, first the messages of people that have no answer yet.

    Their next prompts show the briefing, which people are not shown. With `dismiss`, a chat that
    waits leaves the desk, and nobody need take it over. The call is idempotent.
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
    """Pages work as for members. Reading moves no one's read mark."""
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
    """Only the holder of the chat posts here, under their name; an SMS names the team, too.

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
    """An agent of the chat writes it; the holder edits and sends it.

    The model is shown the current session of this chat alone. Nothing is posted, and only the
    usage is stored.
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
