"""Routes of chats and their members, for the people in them."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from routes.app import ChatId, Limit, MemberId, PageCursor, Principal
from routes.audited import CONVERSATION, Unaudited
from routes.router import ApiRouter, no_content
from skein.bootstrap import service
from skein.models.api.chats import (
    ChatChange,
    ChatMemberResource,
    ChatPage,
    ChatResource,
    InvitationAnswer,
    LastMessageResource,
    MemberPage,
    NewChat,
    OwnChatResource,
    ReadingMember,
    RoleChange,
)
from skein.models.chats.chat import Chat
from skein.models.common.base import MemberKind, MemberRef
from skein.services.chats.administration import ChatAdministration
from skein.services.chats.views import ChatViews, OwnChat
from skein.services.choices.invitations import Invitations
from skein.services.common.pagination import DEFAULT_PAGE

router = ApiRouter("chats", "chat")
members = ApiRouter("members", "member")

Kind = Annotated[MemberKind, Path(description="Whether the member is a user or an agent.")]


@router.post("/v1/chats", "Open a chat", 404, 409, repeated="The chat already exists.", keyed=True)
def create_chat(new: NewChat) -> tuple[ChatResource, int]:
    """The caller is the first member. All other members must exist.

    People who share no chat with the caller are invited, and join when they accept. Repeating a
    `client_id` returns the existing chat in its current state. 403: only operators may add one of
    the named agents (its `who_may_add`).
    """
    caller = router.caller
    chats = service(ChatAdministration)
    opened = router.once(
        Chat,
        lambda: chats.create(caller.tenant, caller.person, new, operator=bool(caller.roles)),
        lambda chat_id: chats.created(caller.tenant, caller.person, chat_id),
        unless=new.client_id,
    )
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
    """The title, respond policy and consolidation can change; the visibility cannot.

    Only an owner of the chat may change it. If the chat has no owner, an operator with the role
    `owner` may; the response then has no title and no summary.
    """
    caller = router.caller
    return ChatResource.of(
        service(ChatAdministration).change(
            caller.tenant, chat_id, caller.person.ref, change, operator=_operates(caller)
        )
    )


@router.delete("/v1/chats/<chat_id>", "Discard a chat")
def discard_chat(chat_id: ChatId) -> Response[None]:
    """Nothing can be posted in a discarded chat. Its members can still read the chat.

    Only an owner of the chat may discard it. If the chat has no owner, an operator with the role
    `owner` may.
    """
    caller = router.caller
    service(ChatAdministration).discard(
        caller.tenant, chat_id, caller.person.ref, operator=_operates(caller)
    )
    return no_content()


@members.get(
    "/v1/chats/<chat_id>/members",
    "List a chat's members with their read marks",
    audit=Unaudited(CONVERSATION),
)
def list_members(
    chat_id: ChatId, limit: Limit = DEFAULT_PAGE, cursor: PageCursor = None
) -> MemberPage:
    """Agents come before people.

    A person's read mark moves when the person posts or calls `POST .../read`.
    """
    caller = router.caller
    page = service(ChatViews).members(
        caller.tenant, caller.user_id, chat_id, limit=limit, cursor=cursor
    )
    items = tuple(map(ReadingMember.of, page.items))
    return MemberPage(items=items, next_cursor=page.next_cursor)


@members.put("/v1/chats/<chat_id>/members/<kind>/<member_id>", "Add a member", 409)
def add_member(chat_id: ChatId, kind: Kind, member_id: MemberId) -> ChatResource:
    """For the new member, earlier messages count as seen.

    A person who shares no chat with the caller, or who was a member of the chat before, is invited.
    Members of direct chats cannot be added.

    403: only operators may add this agent (its `who_may_add`).
    """
    caller = router.caller
    member = MemberRef(kind=kind, id=member_id)
    return ChatResource.of(
        service(ChatAdministration).add_member(
            caller.tenant, chat_id, caller.person, member, operator=bool(caller.roles)
        )
    )


@members.delete("/v1/chats/<chat_id>/members/<kind>/<member_id>", "Remove a member", 409)
def remove_member(chat_id: ChatId, kind: Kind, member_id: MemberId) -> Response[None]:
    """Owners remove others. Every member may leave, and withdraw an invitation that they sent.

    If the chat has no owner, an operator with the role `owner` may remove members. The queued run
    of a removed agent is canceled.
    """
    caller, member = router.caller, MemberRef(kind=kind, id=member_id)
    service(ChatAdministration).remove_member(
        caller.tenant, chat_id, caller.person.ref, member, operator=_operates(caller)
    )
    return no_content()


@members.patch("/v1/chats/<chat_id>/members/<kind>/<member_id>", "Change a member's role", 409)
def change_member(
    chat_id: ChatId, kind: Kind, member_id: MemberId, change: RoleChange
) -> ChatMemberResource:
    """Only an owner of the chat may change roles.

    A group may have many owners. If the chat has no owner, an operator with the role `owner` may
    change roles.
    """
    caller, member = router.caller, MemberRef(kind=kind, id=member_id)
    chat = service(ChatAdministration).set_role(
        caller.tenant,
        chat_id,
        caller.person.ref,
        member,
        change.role,
        operator=_operates(caller),
    )
    named = next(each for each in chat.roster if each.ref == member)
    return ChatMemberResource.of_member(chat, named)


@members.post("/v1/chats/<chat_id>/invitation", "Answer an invitation to a chat", 409)
def answer_invitation(chat_id: ChatId, answer: InvitationAnswer) -> Response[None]:
    """Only the invited person can answer. Before they accept, they can't read the chat.

    409: the invitation has expired, or the chat is discarded.
    """
    caller = router.caller
    service(Invitations).answer(caller.tenant, chat_id, caller.person.ref, accept=answer.accept)
    return no_content()


def _operates(caller: Principal) -> bool:
    """Return whether a caller may act in chats without an owner."""
    return "owner" in caller.roles


def _own(own: OwnChat) -> OwnChatResource:
    last = own.chat.last_message
    return OwnChatResource.of(
        own.chat, unread=own.unread, last_message=LastMessageResource.of(last) if last else None
    )
