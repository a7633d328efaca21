"""Requests and resources of the HTTP API: chats and messages.

Requests are strict: an unknown field is refused. Every field of a resource is always present; a
missing value is null.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from skein.models.chats.chat import (
    MAX_TEXT,
    Chat,
    ChatKind,
    LastMessage,
    Media,
    Membership,
    Message,
    MessageKind,
    RespondMode,
    Visibility,
)
from skein.models.common.audience import may_show
from skein.models.common.base import Instant, MemberKind, MemberRef, Name, NamedMember
from skein.models.common.json_types import NUMBER, JsonBool, JsonTrue
from skein.models.runs.run import Run

MAX_SEQ = 999_999_999_998

# Ids are printable ASCII without spaces, as OpenID Connect demands of a `sub`.
EntityId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[!-~]+$")]
Seq = Annotated[int, Field(ge=0, le=MAX_SEQ), NUMBER]

# The codes of `skein.errors`, and those of skein.http for errors that no caller caused.
ErrorCode = Literal[
    "invalid",
    "unauthenticated",
    "forbidden",
    "not_found",
    "conflict",
    "too_large",
    "unprocessable",
    "rate_limited",
    "unavailable",
    "storage_full",
    "internal",
]


class Request(BaseModel):
    """The body of a request.

    Attributes:
        clearable: The fields of a change that null resets. Null leaves all other fields unchanged.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    clearable: ClassVar[frozenset[str]] = frozenset()

    @property
    def given(self) -> dict[str, Any]:
        """Return the fields that the request changes, with their new values."""
        values = {name: getattr(self, name) for name in sorted(self.model_fields_set)}
        return {
            name: value
            for name, value in values.items()
            if value is not None or name in self.clearable
        }


class Resource(BaseModel):
    """A response body of the API, or a part of one."""

    model_config = ConfigDict(frozen=True)


class ErrorDetail(Resource):
    """The error of a failed request."""

    code: Annotated[ErrorCode, Field(description="Stable code for programs.")]
    message: Annotated[str, Field(description="Explanation for people; its wording may change.")]
    details: Annotated[dict[str, Any], Field(description="Details that depend on the code.")]


class ErrorEnvelope(Resource):
    """The body of every response with a status of 400 or higher."""

    error: ErrorDetail


class Health(Resource):
    """The API is up."""

    status: Literal["ok"] = "ok"
    paused: Annotated[
        tuple[str, ...] | None,
        Field(description="Work that is paused for all tenants; null if that is unknown."),
    ] = None


class MemberRequest(Request):
    """A person or an agent, by kind and id."""

    kind: MemberKind
    id: EntityId

    @property
    def ref(self) -> MemberRef:
        """Return the reference that services use."""
        return MemberRef(kind=self.kind, id=self.id)


class NewChat(Request):
    """A new chat. The caller becomes a member and need not be listed."""

    client_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=128,
            description="Idempotency key of the caller: a repeated key returns the same chat.",
        ),
    ] = None
    title: Annotated[Name | None, Field(description="1 to 200 characters.")] = None
    kind: Annotated[ChatKind, Field(description="A `direct` chat has exactly two members.")]
    visibility: Annotated[
        Visibility | None,
        Field(
            description="Cannot be changed. Default: `open` for groups, `private` for direct chats."
        ),
    ] = None
    respond: Annotated[
        RespondMode,
        Field(description="Whether agents answer `every` message, a `mention`, or none."),
    ] = "every"
    consolidate: Annotated[
        JsonBool | None,
        Field(
            description="Whether agents consolidate the chat into memories; "
            "null inherits the value of the agent, the line or the tenant."
        ),
    ] = None
    members: Annotated[
        tuple[MemberRequest, ...],
        Field(description="At most 100 members, at most 20 of them agents.", max_length=100),
    ] = ()


class ChatChange(Request):
    """Changes to a chat. Omitted fields stay; null removes `title` and `consolidate` only."""

    clearable = frozenset({"title", "consolidate"})

    title: Annotated[Name | None, Field(description="Null removes the title.")] = None
    respond: RespondMode | None = None
    consolidate: Annotated[JsonBool | None, Field(description="Null inherits the value.")] = None


class NewChatMessage(Request):
    """A new message."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
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
        Field(ge=1, le=MAX_SEQ, description="The `seq` of a message in this chat."),
        NUMBER,
    ] = None


class ReadReceipt(Request):
    """The newest message that the caller has read."""

    seq: Seq


class RespondNow(Request):
    """The agents that respond now: one agent, or all agents in turn."""

    agent_id: EntityId | None = None
    all: JsonTrue | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.agent_id is None) == (self.all is None):
            raise ValueError("give either agent_id or all, not both")
        return self


class MemberResource(Resource):
    """A member of a chat."""

    kind: MemberKind
    id: str
    name: str

    @classmethod
    def of(cls, member: NamedMember) -> Self:
        """Build the resource of a member."""
        return cls.model_validate(member, from_attributes=True)


class ChatResource(Resource):
    """A chat."""

    id: str
    title: str | None
    kind: ChatKind
    visibility: Visibility
    respond: RespondMode
    consolidate: Annotated[
        bool | None, Field(description="The chat's own value; null if the chat inherits one.")
    ]
    summary: Annotated[
        str | None, Field(description="The chat summary; null if the chat has none.")
    ]
    last_seq: int
    last_message_at: Instant | None
    members: tuple[MemberResource, ...]
    created_at: Instant
    discarded_at: Instant | None

    @classmethod
    def of(cls, chat: Chat, **more: Any) -> Self:
        """Build the resource of a chat.

        The summary of a private chat is omitted if a reader was not present for its content.
        """
        summary = (
            chat.summary if chat.summary and may_show(chat.summary.audience, chat.readers) else None
        )
        made = {
            "members": tuple(MemberResource.of(member) for member in chat.roster),
            "summary": summary.text if summary else None,
        }
        shared = {
            name: getattr(chat, name) for name in ChatResource.model_fields if name not in made
        }
        return cls(**made, **shared, **more)


class LastMessageResource(Resource):
    """The newest message of a chat. The text is cut after 200 characters."""

    seq: int
    text: str
    sender: MemberResource
    created_at: Instant

    @classmethod
    def of(cls, last: LastMessage) -> Self:
        """Build the resource of a preview."""
        return cls.model_validate(last, from_attributes=True)


class OwnChatResource(ChatResource):
    """A chat as the caller sees it."""

    unread: Annotated[
        int, Field(description="Number of messages after the last one that the caller has read.")
    ]
    last_message: LastMessageResource | None


class ChatPage(Resource):
    """A page of the caller's chats, newest first."""

    items: tuple[OwnChatResource, ...]
    next_cursor: str | None


class AgentChatResource(Resource):
    """A chat of an agent as operators list it, without title and words."""

    id: str
    kind: ChatKind
    visibility: Visibility
    last_seq: Annotated[int, Field(description="The `seq` of the newest message; 0 without one.")]
    last_message_at: Instant | None
    members: Annotated[int, Field(description="Number of members, people and agents.")]

    @classmethod
    def of(cls, chat: Chat) -> Self:
        """Build the resource of a chat."""
        shared = {
            name: getattr(chat, name)
            for name in AgentChatResource.model_fields
            if name != "members"
        }
        return cls(members=len(chat.roster), **shared)


class AgentChatPage(Resource):
    """A page of an agent's chats, newest first."""

    items: tuple[AgentChatResource, ...]
    next_cursor: str | None


class ListedChatResource(Resource):
    """A chat of the tenant as operators list it, without title and words."""

    id: str
    kind: ChatKind
    visibility: Visibility
    last_seq: Annotated[int, Field(description="The `seq` of the newest message; 0 without one.")]
    last_message_at: Instant | None
    members: tuple[MemberResource, ...]
    created_at: Instant
    discarded_at: Instant | None

    @classmethod
    def of(cls, chat: Chat) -> Self:
        """Build the resource of a chat."""
        own = {name: getattr(chat, name) for name in cls.model_fields if name != "members"}
        return cls(members=tuple(map(MemberResource.of, chat.roster)), **own)


class ListedChatPage(Resource):
    """A page of the tenant's chats, newest first."""

    items: tuple[ListedChatResource, ...]
    next_cursor: str | None


class MessageResource(Resource):
    """A message."""

    id: str
    chat_id: str
    seq: int
    kind: MessageKind
    text: str
    sender: MemberResource
    client_id: Annotated[
        str,
        Field(
            description="The idempotency key with which a person posted the message. For an "
            "agent's message, an opaque, stable string."
        ),
    ]
    reply_to: int | None
    media: tuple[Media, ...]
    run_id: Annotated[
        str | None,
        Field(
            description="The run that posted the message, if the run belongs to this chat. Null "
            "for a person's message, and for a run of another chat, a plan or a service."
        ),
    ]
    created_at: Instant

    @classmethod
    def of(cls, message: Message) -> Self:
        """Build the resource of a message, as members of its chat may see it.

        A run id contains the id of the run's home, and an agent's stored `client_id` contains the
        run id. Both could reveal a private chat in which the agent was asked to post the message.
        """
        made = {
            "sender": MemberResource.of(message.sender),
            "client_id": message.id if message.sender.kind == "agent" else message.client_id,
            "run_id": message.run_id
            if message.run_id and Run.lives_in(message.run_id, message.chat_id)
            else None,
        }
        shared = {name: getattr(message, name) for name in cls.model_fields if name not in made}
        return cls(**made, **shared)


class MessagePage(Resource):
    """A page of messages, oldest first."""

    items: tuple[MessageResource, ...]
    next_cursor: str | None


class TranscriptPage(MessagePage):
    """A page of a chat's messages as an operator reads them, with the chat's title and members."""

    title: str | None
    kind: ChatKind
    visibility: Visibility
    members: tuple[MemberResource, ...]


class ReadingMember(MemberResource):
    """A member of a chat with the read mark."""

    seen_seq: Annotated[
        int,
        Field(
            description="The newest message that the person has read, or that a prompt of the "
            "agent contained. 0 if there is none."
        ),
    ]

    @classmethod
    def of_membership(cls, membership: Membership) -> Self:
        """Build the resource of a membership."""
        return cls(**membership.member.model_dump(), seen_seq=membership.seen_seq)


class MemberPage(Resource):
    """A page of a chat's members, agents first."""

    items: tuple[ReadingMember, ...]
    next_cursor: str | None


class ReadState(Resource):
    """The newest message that the caller has read, and the number of unread messages."""

    seen_seq: int
    unread: int
