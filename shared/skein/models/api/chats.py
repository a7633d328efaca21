"""Requests and resources of the HTTP API: chats and messages."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import (
    ConfigDict,
    Field,
    model_validator,
)

from skein.models.api.base import (
    EXAMPLE_AGENT,
    EXAMPLE_TIME,
    MAX_SEQ,
    ChangeRequest,
    CreatedAt,
    Id,
    IdOfChat,
    Page,
    Request,
    Resource,
    Seq,
)
from skein.models.api.choices import ChoiceResource, NewAnswer, ViaResource
from skein.models.chats.chat import (
    MAX_TEXT,
    Chat,
    ChatFields,
    ChatKind,
    ListedMember,
    MemberRole,
    MemberState,
    Message,
    MessageKind,
    Visibility,
)
from skein.models.chats.media import MAX_PER_MESSAGE, MediaFile, MediaState
from skein.models.common.base import (
    EntityId,
    Identifier,
    Instant,
    MemberKind,
    MemberRef,
    NamedMember,
    SenderKind,
)
from skein.models.common.json_types import NUMBER, JsonBool, JsonTrue
from skein.models.runs.run import Run
from skein.models.visibility.audience import may_show
from skein.models.visibility.provenance import Citation

NO_FILES: Mapping[str, MediaFile] = {}


class MemberRequest(Request):
    """A person or an agent, by kind and id."""

    kind: Annotated[MemberKind, Field(description="The kind of item.")]
    id: Annotated[EntityId, Field(description="The id, an opaque text.")]

    @property
    def ref(self) -> MemberRef:
        """The member as a `MemberRef`, which services take as an argument."""
        return MemberRef(kind=self.kind, id=self.id)


class NewChat(ChatFields, Request):
    """A new chat. The caller becomes a member and need not be listed."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "kind": "group",
                "title": "Morning run",
                "members": [{"kind": "agent", "id": EXAMPLE_AGENT}],
                "client_id": "5f0c",
            }
        }
    )

    client_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=128,
            description="Idempotency key of the caller: a repeated key returns the same chat.",
        ),
    ] = None
    kind: Annotated[ChatKind, Field(description="A `direct` chat has exactly two members.")]
    visibility: Annotated[
        Visibility | None,
        Field(
            description="Cannot be changed. Default: `open` for groups, `private` for direct chats."
        ),
    ] = None
    members: Annotated[
        tuple[MemberRequest, ...],
        Field(description="At most 100 members, at most 20 of them agents.", max_length=100),
    ] = ()


class ChatChange(ChatFields, ChangeRequest):
    """Changes to a chat. Omitted fields stay; null removes only `title` or `consolidate`."""

    model_config = ConfigDict(json_schema_extra={"example": {"title": "Evening run"}})


class NewChatMessage(Request):
    """A new message."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"text": "Should I stretch before I run?", "client_id": "8a41"}
        }
    )

    text: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MAX_TEXT,
            description="The text; leave it out with a `choice`, whose answer is the text.",
        ),
    ] = None
    media: Annotated[
        tuple[EntityId, ...],
        Field(
            max_length=MAX_PER_MESSAGE,
            description="The ids of files that were uploaded for this chat (`POST /v1/media`).",
        ),
    ] = ()
    choice: Annotated[
        NewAnswer | None, Field(description="The answer to a question of this chat.")
    ] = None
    client_id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=128,
            description="Idempotency key of the sender: a repeated key returns the same message.",
        ),
    ]
    reply_to: Annotated[
        int | None,
        Field(
            ge=1,
            le=MAX_SEQ,
            description="The `seq` of a message in this chat; leave it out with a `choice`.",
        ),
        NUMBER,
    ] = None

    @model_validator(mode="after")
    def _text_or_choice(self) -> Self:
        words = self.text is not None or bool(self.media)
        if words == (self.choice is not None):
            raise ValueError("give either text and media, or choice")
        if len(set(self.media)) < len(self.media):
            raise ValueError("name each file once")
        if self.choice is not None and self.reply_to is not None:
            raise ValueError("an answer to a choice has no reply_to")
        return self


class ReadReceipt(Request):
    """The newest message that the caller has read."""

    model_config = ConfigDict(json_schema_extra={"example": {"seq": 2}})

    seq: Annotated[
        Seq, Field(description="The `seq` of the newest message that the caller has read.")
    ]


class InvitationAnswer(Request):
    """The answer to an invitation."""

    model_config = ConfigDict(json_schema_extra={"example": {"accept": True}})

    accept: Annotated[JsonBool, Field(description="Whether to join the chat.")]


class RoleChange(Request):
    """A new role of a member."""

    model_config = ConfigDict(json_schema_extra={"example": {"role": "owner"}})

    role: Annotated[MemberRole, Field(description="`owner`, or `member` without that role.")]


class RespondNow(Request):
    """The agents that respond now: one agent, or all agents in turn."""

    agent_id: Annotated[
        EntityId | None, Field(description="The agent that responds; give either this or `all`.")
    ] = None
    all: Annotated[
        JsonTrue | None,
        Field(description="True: all agents of the chat respond, one after the other."),
    ] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.agent_id is None and self.all is None:
            raise ValueError("give agent_id or all")
        if self.agent_id is not None and self.all is not None:
            raise ValueError("give either agent_id or all, not both")
        return self


class MemberResource(Resource):
    """A member of a chat."""

    kind: Annotated[MemberKind, Field(description="The kind of item.")]
    id: Id
    name: Annotated[str, Field(description="The name.")]


class SenderResource(Resource):
    """The sender of a message: a member of the chat, or a person of the team who holds the chat."""

    kind: Annotated[SenderKind, Field(description="The kind of item.")]
    id: Id
    name: Annotated[str, Field(description="The name.")]


class ChatMemberResource(MemberResource):
    """A member of a chat, or a person who is invited to it."""

    state: Annotated[
        MemberState,
        Field(description="`invited` until the person has accepted; nothing is readable before."),
    ]
    role: Annotated[
        MemberRole,
        Field(description="`owner` of the chat, or `member`. Agents and invited people own none."),
    ]

    @classmethod
    def all_of(cls, chat: Chat) -> tuple[Self, ...]:
        """Build the resources of a chat's members, followed by those of its invited people."""
        members = (cls.of_member(chat, member) for member in chat.roster)
        invited = (
            cls(**each.member.model_dump(), state="invited", role="member") for each in chat.invited
        )
        return (*members, *invited)

    @classmethod
    def of_member(cls, chat: Chat, member: NamedMember) -> Self:
        return cls(**member.model_dump(), state="member", role=chat.role_of(member.ref))


class ChatHeadResource(Resource):
    """A chat without its title and without any text."""

    id: Id
    kind: Annotated[ChatKind, Field(description="Whether the chat is a direct or a group chat.")]
    visibility: Annotated[
        Visibility,
        Field(
            description="Whether content may be shown to everyone in the tenant (`open`) or not."
        ),
    ]
    last_seq: Annotated[int, Field(description="The `seq` of the newest message; 0 without one.")]
    last_message_at: Annotated[
        Instant | None,
        Field(description="When the newest message was posted; null in an empty chat."),
    ]


class RosterResource(ChatHeadResource):
    """A chat with its members and times."""

    members: Annotated[
        tuple[ChatMemberResource, ...],
        Field(description="The members of the chat, and the people who are invited."),
    ]
    created_at: CreatedAt
    discarded_at: Annotated[
        Instant | None, Field(description="When the chat was discarded; null if it was not.")
    ]


class ChatResource(ChatFields, RosterResource):
    """A chat."""

    summary: Annotated[
        str | None, Field(description="The chat summary; null if the chat has none.")
    ]

    @classmethod
    def of(cls, chat: Chat, **more: Any) -> Self:
        """Build the resource of a chat.

        The summary of a private chat is omitted if one of the chat's readers was not present for
        what the summary covers.
        """
        summary = (
            chat.summary if chat.summary and may_show(chat.summary.audience, chat.readers) else None
        )
        made = {
            "members": ChatMemberResource.all_of(chat),
            "summary": summary.text if summary else None,
        }
        shared = {
            name: getattr(chat, name) for name in ChatResource.model_fields if name not in made
        }
        return cls(**made, **shared, **more)


class LastMessageResource(Resource):
    """The newest message of a chat. The text is cut after 200 characters."""

    seq: Annotated[int, Field(description="The number of the message in its chat.")]
    text: Annotated[str, Field(description="The text.")]
    sender: Annotated[SenderResource, Field(description="Who posted the message.")]
    created_at: CreatedAt


class OwnChatResource(ChatResource):
    """A chat of the caller, with its newest message and the number of unread messages."""

    unread: Annotated[
        int, Field(description="Number of messages after the last one that the caller has read.")
    ]
    last_message: Annotated[
        LastMessageResource | None, Field(description="The newest message; null in an empty chat.")
    ]


class ChatPage(Page[OwnChatResource]):
    """A page of the caller's chats, newest first."""


class AgentChatResource(ChatHeadResource):
    """A chat of an agent as operators list it, without its title and without any text."""

    members: Annotated[int, Field(description="Number of members, people and agents.")]

    @classmethod
    def of(cls, chat: Chat) -> Self:
        shared = {
            name: getattr(chat, name)
            for name in AgentChatResource.model_fields
            if name != "members"
        }
        return cls(members=len(chat.roster), **shared)


class AgentChatPage(Page[AgentChatResource]):
    """A page of an agent's chats, newest first."""


class ListedChatResource(RosterResource):
    """A chat of the tenant as operators list it, without its title and without any text."""

    @classmethod
    def of(cls, chat: Chat) -> Self:
        own = {name: getattr(chat, name) for name in cls.model_fields if name != "members"}
        return cls(members=ChatMemberResource.all_of(chat), **own)


class ListedChatPage(Page[ListedChatResource]):
    """A page of the tenant's chats, newest first."""


class MediaResource(Resource):
    """A picture or file of a message; `GET /v1/chats/{chat_id}/media/{media_id}` leads to it."""

    id: Id
    type: Annotated[
        str, Field(description="The media type, such as `image/jpeg`: the real one once `ready`.")
    ]
    bytes: Annotated[int, Field(description="The length; 0 while it is unknown.")]
    state: Annotated[MediaState, Field(description="Whether the file can be shown.")]
    width: Annotated[int | None, Field(description="The width of a picture in pixels.")]
    height: Annotated[int | None, Field(description="The height of a picture in pixels.")]
    description: Annotated[
        str | None, Field(description="What a picture shows, in words; null if not described.")
    ]

    @classmethod
    def all_of(cls, message: Message, files: Mapping[str, MediaFile]) -> tuple[Self, ...]:
        """Build the resources of a message's files; a deleted file counts as failed."""
        return tuple(
            cls._of(media.id, media.content_type, files.get(media.id))
            for media in message.media
            if media.id is not None
        )

    @classmethod
    def _of(cls, media_id: str, claimed: str, file: MediaFile | None) -> Self:
        return cls(
            id=media_id,
            type=file.content_type if file is not None else claimed,
            bytes=file.size if file is not None else 0,
            state=file.state if file is not None else "failed",
            width=file.width if file is not None else None,
            height=file.height if file is not None else None,
            description=file.description if file is not None else None,
        )


class MessageResource(Resource):
    """A message."""

    id: Id
    chat_id: IdOfChat
    seq: Annotated[int, Field(description="The number of the message in its chat.")]
    kind: Annotated[MessageKind, Field(description="The kind of item.")]
    text: Annotated[str, Field(description="The text; empty for a deleted or erased message.")]
    sender: Annotated[SenderResource, Field(description="Who posted the message.")]
    client_id: Annotated[
        str,
        Field(
            description="The idempotency key with which a person posted the message. For an "
            "agent's message, an opaque, stable string."
        ),
    ]
    reply_to: Annotated[
        int | None,
        Field(description="The `seq` of the message that this one replies to; null for none."),
    ]
    choice: Annotated[
        ChoiceResource | None, Field(description="The question; null unless the kind is `choice`.")
    ]
    via: Annotated[
        ViaResource | None,
        Field(description="The agent whose words the sender agreed to post; null for own words."),
    ]
    media: Annotated[
        tuple[MediaResource, ...], Field(description="The pictures and files of the message.")
    ]
    sharing_rules: Annotated[
        tuple[Identifier, ...],
        Field(
            description="The ids of the sharing rules of which a `notice` tells. An app shows a "
            "button beside it: `POST /v1/chats/{chat_id}/sharing/keep` keeps the talk private."
        ),
    ]
    sources: Annotated[
        tuple[Citation, ...],
        Field(description="The passages of your sources that an agent's message cites."),
    ]
    run_id: Annotated[
        str | None,
        Field(
            description="The run that posted the message, if the run belongs to this chat. Null "
            "for a person's message, and for a run of another chat, a plan or a service."
        ),
    ]
    created_at: CreatedAt

    @classmethod
    def of(
        cls,
        message: Message,
        now: datetime | None = None,
        files: Mapping[str, MediaFile] = NO_FILES,
    ) -> Self:
        """Build the resource of a message, as members of its chat may see it.

        Stored ids that could reveal a private chat are not shown. A run id contains the id of the
        chat or agent that holds the run, and an agent's `client_id` contains the run id. The
        `client_id` of a text that was posted after a person's yes contains the id of the question.

        Args:
            now: The current time. It decides whether a choice is still open, so a message with a
                choice needs it.
            files: The files of the message, by id.
        """
        if message.choice is not None and now is None:
            raise ValueError("the status of a choice needs the time")
        made = {
            "sender": SenderResource.of(message.sender),
            "media": MediaResource.all_of(message, files),
            "choice": ChoiceResource.shown(message.choice, now) if message.choice and now else None,
            "via": ViaResource.shown(message.via, message.chat_id) if message.via else None,
            "sharing_rules": message.noticed_rules if message.kind == "notice" else (),
            "client_id": message.id
            if message.sender.kind == "agent" or message.via
            else message.client_id,
            "run_id": message.run_id
            if message.run_id and Run.lives_in(message.run_id, message.chat_id)
            else None,
        }
        shared = {name: getattr(message, name) for name in cls.model_fields if name not in made}
        return cls(**made, **shared)


class MessagePage(Page[MessageResource]):
    """A page of messages, oldest first."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "items": [
                    {
                        "id": "msg_01M8052A0RRXM7989ADR524XMF",
                        "chat_id": "chat_01M806VB1EXYCSVB1T1S3JF1YZ",
                        "seq": 2,
                        "kind": "text",
                        "text": "Yes. Walk for five minutes first, then stretch.",
                        "sender": {"kind": "agent", "id": EXAMPLE_AGENT, "name": "Coach"},
                        "client_id": "8a41",
                        "reply_to": None,
                        "choice": None,
                        "via": None,
                        "sharing_rules": [],
                        "media": [],
                        "sources": [],
                        "run_id": None,
                        "created_at": EXAMPLE_TIME,
                    }
                ],
                "next_cursor": None,
            }
        }
    )

    @classmethod
    def of(
        cls, source: Any, now: datetime | None = None, files: Mapping[str, MediaFile] = NO_FILES
    ) -> Self:
        """Build the page; see `MessageResource.of`."""
        items = tuple(MessageResource.of(message, now, files) for message in source.items)
        return cls(items=items, next_cursor=source.next_cursor)


class TranscriptPage(MessagePage):
    """A page of a chat's messages as an operator reads them, with the chat's title and members."""

    model_config = ConfigDict(json_schema_extra=None)  # the example is not a transcript

    title: Annotated[str | None, Field(description="The title; null without one.")]
    kind: Annotated[ChatKind, Field(description="The kind of item.")]
    visibility: Annotated[
        Visibility,
        Field(
            description="Whether content may be shown to everyone in the tenant (`open`) or not."
        ),
    ]
    members: Annotated[
        tuple[ChatMemberResource, ...],
        Field(description="The members of the chat, and the people who are invited."),
    ]


class ReadingMember(ChatMemberResource):
    """A member of a chat or an invited person, with the newest message that the member has read."""

    seen_seq: Annotated[
        int,
        Field(
            description="The newest message that the person has read, or that a prompt of the "
            "agent contained. 0 if there is none."
        ),
    ]

    @classmethod
    def of(cls, listed: ListedMember) -> Self:
        """Build the resource of a member or an invited person."""
        state, role, seen_seq = listed.state, listed.role, listed.seen_seq
        return cls(**listed.member.model_dump(), state=state, role=role, seen_seq=seen_seq)


class MemberPage(Page[ReadingMember]):
    """A page of a chat's members, agents first."""


class ReadState(Resource):
    """The newest message that the caller has read, and the number of unread messages."""

    seen_seq: Annotated[
        int, Field(description="The `seq` of the newest message that was read; 0 if there is none.")
    ]
    unread: Annotated[
        int, Field(description="Number of messages after the last one that the caller has read.")
    ]
