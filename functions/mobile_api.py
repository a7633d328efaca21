"""API Gateway: chats and messages, for the people in them (scope `chat`)."""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from aws_lambda_powertools.utilities.typing import LambdaContext

from routes.app import (
    Api,
    ChatId,
    Limit,
    MemberId,
    PageCursor,
    documented,
    no_content,
)
from routes.audited import changes, creates, deletes, unaudited
from skein.bootstrap import app
from skein.logs import logged
from skein.models.api.base import (
    MAX_SEQ,
    ChatChange,
    ChatPage,
    ChatResource,
    Health,
    LastMessageResource,
    MessagePage,
    MessageResource,
    NewChat,
    NewChatMessage,
    OwnChatResource,
    ReadReceipt,
    ReadState,
    RespondNow,
)
from skein.models.api.directory import Myself
from skein.models.api.runs import RunPage, RunResource
from skein.models.base import MemberKind, MemberRef
from skein.services.chats.post_message import NewMessage
from skein.services.chats.views import OwnChat
from skein.services.common.pagination import DEFAULT_PAGE

api = Api(scope="chat", public=frozenset({"/healthz"}))

CONVERSATION = "the chat itself says who was in it, and who wrote what"

Kind = Annotated[MemberKind, Path(description="Whether it is a person or an agent.")]
After = Annotated[int | None, Query(ge=0, le=MAX_SEQ, description="Only higher `seq`s.")]
Before = Annotated[int | None, Query(ge=1, le=MAX_SEQ, description="Only lower `seq`s.")]


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    return api.resolve(event, context)


@api.get(
    "/healthz",
    summary="Whether the service is there",
    tags=["service"],
    responses={200: documented(200, Health)[200]},
    middlewares=unaudited("it tells nothing of anybody"),
)
def health() -> Health:
    """Nothing behind it is asked."""
    return Health()


@api.get(
    "/v1/me",
    summary="Who the caller is",
    tags=["me"],
    responses=documented(200, Myself),
    middlewares=unaudited("it shows the callers themselves"),
)
def me() -> Myself:
    """The caller's record, or what the sign-in says."""
    caller = api.caller
    user = app().users.me(caller.tenant, caller.person)
    return Myself.of(user, tenant=caller.tenant, scopes=caller.scopes)


@api.post(
    "/v1/chats",
    summary="Open a chat",
    tags=["chats"],
    status_code=201,
    responses=documented(201, ChatResource, 400, 404, 409, 413, 422)
    | {200: documented(200, ChatResource)[200] | {"description": "It had been opened before."}},
    middlewares=creates("chat"),
)
def create_chat(new: NewChat) -> tuple[ChatResource, int]:
    """The caller is its first member; all others must exist.

    The same `client_id` again is the same chat, as it is now.
    """
    opened = app().rooms.create(api.caller.tenant, api.caller.person, new)
    return ChatResource.of(opened.chat), 201 if opened.created else 200


@api.get(
    "/v1/chats",
    summary="List the caller's chats, newest first",
    tags=["chats"],
    responses=documented(200, ChatPage, 400, 422),
    middlewares=unaudited(CONVERSATION),
)
def list_chats(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> ChatPage:
    """Discarded chats are left out; a page may be short, the end is a null `next_cursor`."""
    caller = api.caller
    page = app().views.chats(caller.tenant, caller.user_id, limit=limit, cursor=cursor)
    items = tuple(map(_own, page.items))
    return ChatPage(items=items, next_cursor=page.next_cursor)


@api.get(
    "/v1/chats/<chat_id>",
    summary="Read a chat",
    tags=["chats"],
    responses=documented(200, OwnChatResource, 404, 422),
    middlewares=unaudited(CONVERSATION),
)
def get_chat(chat_id: ChatId) -> OwnChatResource:
    """A discarded one, too; `discarded_at` says so."""
    caller = api.caller
    return _own(app().views.chat(caller.tenant, caller.user_id, chat_id))


@api.patch(
    "/v1/chats/<chat_id>",
    summary="Change a chat",
    tags=["chats"],
    responses=documented(200, ChatResource, 400, 404, 409, 413, 422),
    middlewares=changes("chat"),
)
def change_chat(chat_id: ChatId, change: ChatChange) -> ChatResource:
    """Its title, its respond policy and whether it is consolidated; never its visibility."""
    caller = api.caller
    return ChatResource.of(app().rooms.change(caller.tenant, chat_id, caller.person.ref, change))


@api.delete(
    "/v1/chats/<chat_id>",
    summary="Discard a chat",
    tags=["chats"],
    status_code=204,
    responses=documented(204, None, 404, 422),
    middlewares=deletes("chat"),
)
def discard_chat(chat_id: ChatId) -> Response[None]:
    """Nothing is posted in it any more; its members can still read it."""
    app().rooms.discard(api.caller.tenant, chat_id, api.caller.person.ref)
    return no_content()


@api.put(
    "/v1/chats/<chat_id>/members/<kind>/<member_id>",
    summary="Let somebody in",
    tags=["members"],
    responses=documented(200, ChatResource, 400, 404, 409, 413, 422),
    middlewares=changes("member"),
)
def add_member(chat_id: ChatId, kind: Kind, member_id: MemberId) -> ChatResource:
    """What was said before counts as seen; direct chats admit nobody."""
    caller = api.caller
    member = MemberRef(kind=kind, id=member_id)
    return ChatResource.of(app().rooms.add_member(caller.tenant, chat_id, caller.person, member))


@api.delete(
    "/v1/chats/<chat_id>/members/<kind>/<member_id>",
    summary="Let somebody go",
    tags=["members"],
    status_code=204,
    responses=documented(204, None, 404, 409, 422),
    middlewares=deletes("member"),
)
def remove_member(chat_id: ChatId, kind: Kind, member_id: MemberId) -> Response[None]:
    """Oneself, perhaps; an agent's queued run is canceled."""
    member = MemberRef(kind=kind, id=member_id)
    app().rooms.remove_member(api.caller.tenant, chat_id, api.caller.person.ref, member)
    return no_content()


@api.get(
    "/v1/chats/<chat_id>/messages",
    summary="Read messages, the oldest of the page first",
    tags=["messages"],
    responses=documented(200, MessagePage, 400, 404, 422),
    middlewares=unaudited(CONVERSATION),
)
def list_messages(
    chat_id: ChatId,
    after: After = None,
    before: Before = None,
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
) -> MessagePage:
    """With `after` the cursor leads to newer messages, otherwise back to older ones."""
    caller = api.caller
    page = app().views.messages(
        caller.tenant,
        caller.user_id,
        chat_id,
        after=after,
        before=before,
        limit=limit,
        cursor=cursor,
    )
    items = tuple(map(MessageResource.of, page.items))
    return MessagePage(items=items, next_cursor=page.next_cursor)


@api.post(
    "/v1/chats/<chat_id>/messages",
    summary="Post a message",
    tags=["messages"],
    status_code=201,
    responses=documented(201, MessageResource, 400, 404, 409, 413, 422)
    | {200: documented(200, MessageResource)[200] | {"description": "It had been posted before."}},
    middlewares=unaudited(CONVERSATION),
)
def post_message(chat_id: ChatId, new: NewChatMessage) -> tuple[MessageResource, int]:
    """The same `client_id` again is the same message, and changes nothing."""
    caller = api.caller
    posted = app().posting.post(
        NewMessage(
            tenant=caller.tenant,
            chat_id=chat_id,
            sender=caller.person.ref,
            text=new.text,
            client_id=new.client_id,
            reply_to=new.reply_to,
        )
    )
    return MessageResource.of(posted.message), 201 if posted.created else 200


@api.post(
    "/v1/chats/<chat_id>/read",
    summary="Say up to where the caller has read",
    tags=["messages"],
    responses=documented(200, ReadState, 400, 404, 413, 422),
    middlewares=unaudited(CONVERSATION),
)
def read(chat_id: ChatId, receipt: ReadReceipt) -> ReadState:
    """The mark never moves back, and never past the last message."""
    caller = api.caller
    own = app().views.read(caller.tenant, caller.user_id, chat_id, receipt.seq)
    return ReadState(seen_seq=own.place.seen_seq, unread=own.unread)


@api.post(
    "/v1/chats/<chat_id>/runs",
    summary="Let agents respond now",
    tags=["runs"],
    status_code=202,
    responses=documented(202, RunPage, 400, 404, 409, 413, 422),
    middlewares=unaudited(CONVERSATION),
)
def respond_now(chat_id: ChatId, wish: RespondNow) -> RunPage:
    """One agent, or all of them in the order of their ids, each after the one before has ended.

    `error` and `trigger.traced_to` are null here: they are for operators.
    """
    caller = api.caller
    app().limits.admit(caller.tenant, caller.user_id)
    run = app().respond.now(caller.tenant, chat_id, caller.person.ref, agent_id=wish.agent_id)
    return RunPage(items=(RunResource.for_members(run),), next_cursor=None)


def _own(own: OwnChat) -> OwnChatResource:
    last = own.chat.last_message
    return OwnChatResource.of(
        own.chat, unread=own.unread, last_message=LastMessageResource.of(last) if last else None
    )
