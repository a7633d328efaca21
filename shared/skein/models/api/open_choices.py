"""Resources of the HTTP API: the questions that a person can answer now, in all chats."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import IdOfChat, Page, Resource
from skein.models.api.chats import ChatMemberResource, MemberResource
from skein.models.api.choices import ExpiresAt, Options, Purpose, Question
from skein.models.chats.chat import Chat, Message
from skein.models.chats.choice import Choice, Invited
from skein.models.chats.person_choices import OpenChoice


class InvitationResource(Resource):
    """The chat that an invited person may join."""

    by: Annotated[MemberResource, Field(description="The member who invites.")]
    title: Annotated[str | None, Field(description="The chat's title; null without one.")]
    members: Annotated[
        tuple[ChatMemberResource, ...],
        Field(description="The members of the chat, and the people who are invited."),
    ]

    @classmethod
    def to(cls, chat: Chat, invited: Invited) -> Self:
        members = ChatMemberResource.all_of(chat)
        return cls(by=MemberResource.of(invited.by), title=chat.title, members=members)


class OpenChoiceResource(Resource):
    """A choice that the caller can answer."""

    chat_id: Annotated[
        IdOfChat, Field(description="The chat of the question, or to which the caller is invited.")
    ]
    chat_title: Annotated[str, Field(description="The title of the chat, or its members.")]
    seq: Annotated[
        int | None,
        Field(
            description="The `seq` of the question in its chat; null for an invitation, which "
            "`POST /v1/chats/{chat_id}/invitation` answers."
        ),
    ]
    agent_id: Annotated[str | None, Field(description="The agent that asks; null for Skein.")]
    purpose: Purpose
    question: Question
    options: Options
    expires_at: ExpiresAt
    invitation: Annotated[
        InvitationResource | None, Field(description="The chat to join; null for a question.")
    ]

    @classmethod
    def listed(
        cls,
        listed: OpenChoice,
        chat: Chat,
        message: Message | None,
        choice: Choice,
        invited: Invited | None,
    ) -> Self:
        """Build the resource of an open choice.

        Args:
            listed: The entry of the choice in the person's list of open choices.
            chat: The chat of the question; for an invitation, the chat to join.
            message: The question's message; None for an invitation.
            choice: The question.
            invited: The invitation; None for a question.
        """
        return cls(
            chat_id=chat.id,
            chat_title=chat.display_title,
            seq=message.seq if message is not None else None,
            agent_id=listed.agent_id if message is not None else None,
            purpose=choice.purpose,
            question=choice.question,
            options=choice.options,
            expires_at=choice.expires_at,
            invitation=InvitationResource.to(chat, invited) if invited is not None else None,
        )


class OpenChoicePage(Page[OpenChoiceResource]):
    """The caller's open choices, oldest first, on one page."""
