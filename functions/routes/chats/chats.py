"""Routes of chats and their members, for the people in them."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import ChatId, Limit, MemberId, PageCursor
from routes.audited import CONVERSATION, Unaudited
from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.models.api.chats import (
    ChatChange,
    ChatPage,
    ChatResource,
    InvitationAnswer,
    LastMessageResource,
    MemberPage,
    NewChat,
    OwnChatResource,
    ReadingMember,
)
from skein.models.chats.choice import Invited
from skein.models.common.base import MemberKind, MemberRef
from skein.services.chats.administration import ChatAdministration
from skein.services.chats.views import ChatViews, OwnChat
from skein.services.choices.invitations import Invitations
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("chats", "chat")
members = ApiRouter("members", "member")

Kind = Annotated[MemberKind, Path(description="Whether the member is a user or an agent.")]


@router.post("/v1/chats", "Open a chat", 404, 409, repeated="The chat already exists.")
def create_chat(new: NewChat) -> tuple[ChatResource, int]:
    """The caller is the first member. All other members must exist.

    People who share no chat with the caller are invited, and join when they accept. Repeating a
    `client_id` returns the existing chat in its current state.
    """
    opened = service(Invitations).create(router.caller.tenant, router.caller.person, new)
    return ChatResource.of(opened.chat), 201 if opened.created else 200


@router.get("/v1/chats", "List the caller's chats, newest first", audit=Unaudited(CONVERSATION))
def list_chats(limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None) -> ChatPage:
    """Discarded chats are omitted, so a page may be short. The last page has no `next_cursor`."""
    caller = router.caller
    page = service(ChatViews).chats(caller.tenant, caller.user_id, limit=limit, cursor=cursor)
    items = tuple(map(_own, page.items))
    return ChatPage(items=items, next_cursor=page.next_cursor)


@router.get("/v1/chats/<chat_id>", "Get a chat", audit=Unaudited(CONVERSATION))
def get_chat(chat_id: ChatId) -> OwnChatResource:
    """A discarded chat is returned too, with `discarded_at`."""
    caller = router.caller
    return _own(service(ChatViews).chat(caller.tenant, caller.user_id, chat_id))


@router.patch("/v1/chats/<chat_id>", "Update a chat", 409)
def change_chat(chat_id: ChatId, change: ChatChange) -> ChatResource:
    """The title, respond policy and consolidation can change; the visibility cannot."""
    caller = router.caller
    return ChatResource.of(
        service(ChatAdministration).change(caller.tenant, chat_id, caller.person.ref, change)
    )


@router.delete("/v1/chats/<chat_id>", "Discard a chat")
def discard_chat(chat_id: ChatId) -> Response[None]:
    """Nothing can be posted in a discarded chat. Its members can still read the chat."""
    service(ChatAdministration).discard(router.caller.tenant, chat_id, router.caller.person.ref)
    return no_content()


@members.get(
    "/v1/chats/<chat_id>/members",
    "List a chat's members with their read marks",
    audit=Unaudited(CONVERSATION),
)
def list_members(
    chat_id: ChatId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> MemberPage:
    """Agents come before people. A person's mark moves when they post or call `POST .../read`."""
    caller = router.caller
    page = service(ChatViews).members(
        caller.tenant, caller.user_id, chat_id, limit=limit, cursor=cursor
    )
    items = tuple(
        ReadingMember.of_invited(each)
        if isinstance(each, Invited)
        else ReadingMember.of_membership(each)
        for each in page.items
    )
    return MemberPage(items=items, next_cursor=page.next_cursor)


@members.put("/v1/chats/<chat_id>/members/<kind>/<member_id>", "Add a member", 409)
def add_member(chat_id: ChatId, kind: Kind, member_id: MemberId) -> ChatResource:
    """Earlier messages count as seen. A person who shares no chat with the caller is invited.

    Members of direct chats cannot be added.
    """
    caller = router.caller
    member = MemberRef(kind=kind, id=member_id)
    return ChatResource.of(
        service(Invitations).add_member(caller.tenant, chat_id, caller.person, member)
    )


@members.delete("/v1/chats/<chat_id>/members/<kind>/<member_id>", "Remove a member", 409)
def remove_member(chat_id: ChatId, kind: Kind, member_id: MemberId) -> Response[None]:
    """A caller may remove themselves, and withdraw an invitation.

    The queued run of a removed agent is canceled.
    """
    member = MemberRef(kind=kind, id=member_id)
    service(ChatAdministration).remove_member(
        router.caller.tenant, chat_id, router.caller.person.ref, member
    )
    return no_content()


@members.post("/v1/chats/<chat_id>/invitation", "Answer an invitation to a chat", 409)
def answer_invitation(chat_id: ChatId, answer: InvitationAnswer) -> Response[None]:
    """Only the invited person can answer. Nothing of the chat is readable before they accept.

    409: the invitation has expired, or the chat is discarded.
    """
    caller = router.caller
    service(Invitations).answer(caller.tenant, chat_id, caller.person.ref, accept=answer.accept)
    return no_content()


def _own(own: OwnChat) -> OwnChatResource:
    last = own.chat.last_message
    return OwnChatResource.of(
        own.chat, unread=own.unread, last_message=LastMessageResource.of(last) if last else None
    )
