"""What clients of the HTTP API send and get: chats and what is said in them (DESIGN section 7).

Requests are strict: a field that is not known is refused. Resources hold what every client may
rely on; a value that is not there is null.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from skein.models.chats.chat import (
    MAX_TEXT,
    Chat,
    ChatKind,
    LastMessage,
    Media,
    Message,
    MessageKind,
    Respond,
    Visibility,
)
from skein.models.common.audience import may_show
from skein.models.common.base import Instant, MemberKind, MemberRef, Name, NamedMember
from skein.models.common.json_types import JsonTypes
from skein.models.runs.run import Run

MAX_SEQ = 999_999_999_998

# Ids are printable ASCII without spaces, as OpenID Connect demands of a `sub`.
EntityId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[!-~]+$")]
Seq = Annotated[int, Field(ge=0, le=MAX_SEQ)]


class Request(JsonTypes):
    """The body of a request.

    Attributes:
        clearable: In a change, the fields that null sets back; null leaves all others as they are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    clearable: ClassVar[frozenset[str]] = frozenset()

    @property
    def given(self) -> dict[str, Any]:
        """The fields that a change really changes, with their new values."""
        values = {name: getattr(self, name) for name in sorted(self.model_fields_set)}
        return {
            name: value
            for name, value in values.items()
            if value is not None or name in self.clearable
        }


class Resource(BaseModel):
    """Something that the API shows."""

    model_config = ConfigDict(frozen=True)


class ErrorDetail(Resource):
    """What went wrong."""

    code: Annotated[str, Field(description="For programs; stays the same.")]
    message: Annotated[str, Field(description="For people.")]
    details: Annotated[dict[str, Any], Field(description="Particulars, by code.")]


class ErrorEnvelope(Resource):
    """The body of every answer from 400 on."""

    error: ErrorDetail


class Health(Resource):
    """The service is there."""

    status: Literal["ok"] = "ok"


class MemberRequest(Request):
    """Somebody, by id."""

    kind: MemberKind
    id: EntityId

    @property
    def ref(self) -> MemberRef:
        """The same, as the services name it."""
        return MemberRef(kind=self.kind, id=self.id)


class NewChat(Request):
    """A chat to be opened; the caller is a member without being named."""

    client_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=128,
            description="The caller's own id of it: the same one again is the same chat.",
        ),
    ] = None
    title: Annotated[Name | None, Field(description="1 to 200 characters.")] = None
    kind: Annotated[ChatKind, Field(description="`direct` has exactly two members.")]
    visibility: Annotated[
        Visibility | None,
        Field(description="For good. By default groups are `open`, direct chats `private`."),
    ] = None
    respond: Annotated[
        Respond, Field(description="Whether agents answer `every` message, a `mention`, or none.")
    ] = "every"
    consolidate: Annotated[
        bool | None,
        Field(description="Whether idle stretches become memories. By default only in groups."),
    ] = None
    members: Annotated[
        tuple[MemberRequest, ...],
        Field(description="At most 100, of whom 20 agents.", max_length=100),
    ] = ()


class ChatChange(Request):
    """What of a chat is to change. What is left out stays, and so does null but for the title."""

    clearable = frozenset({"title"})

    title: Annotated[Name | None, Field(description="Null takes it away.")] = None
    respond: Respond | None = None
    consolidate: bool | None = None


class NewChatMessage(Request):
    """A message to be posted."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    client_id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=128,
            description="The sender's own id of it: the same one again is the same message.",
        ),
    ]
    reply_to: Annotated[
        int | None, Field(ge=1, le=MAX_SEQ, description="A `seq` of this chat.")
    ] = None


class ReadReceipt(Request):
    """Up to where the caller has read."""

    seq: Seq


class RespondNow(Request):
    """Who is to respond now: one agent, or all of them, one after another."""

    agent_id: EntityId | None = None
    all: Literal[True] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.agent_id is None) == (self.all is None):
            raise ValueError("give either agent_id or all")
        return self


class MemberResource(Resource):
    """A member as the others see them."""

    kind: MemberKind
    id: str
    name: str

    @classmethod
    def of(cls, member: NamedMember) -> Self:
        """The resource of a member."""
        return cls.model_validate(member, from_attributes=True)


class ChatResource(Resource):
    """A chat."""

    id: str
    title: str | None
    kind: ChatKind
    visibility: Visibility
    respond: Respond
    consolidate: bool
    summary: Annotated[
        str | None, Field(description="What was said, in short; null until it is made.")
    ]
    last_seq: int
    last_message_at: Instant | None
    members: tuple[MemberResource, ...]
    created_at: Instant
    discarded_at: Instant | None

    @classmethod
    def of(cls, chat: Chat, **more: Any) -> Self:
        """The resource of a chat.

        Where somebody has joined a private chat, its summary of before is not shown any more.
        """
        record = (
            chat.record if chat.record and may_show(chat.record.audience, chat.readers) else None
        )
        made = {
            "members": tuple(MemberResource.of(member) for member in chat.roster),
            "summary": record.text if record else None,
        }
        shared = {
            name: getattr(chat, name) for name in ChatResource.model_fields if name not in made
        }
        return cls(**made, **shared, **more)


class LastMessageResource(Resource):
    """The newest message of a chat, its text cut at 200 characters."""

    seq: int
    text: str
    sender: MemberResource
    created_at: Instant

    @classmethod
    def of(cls, last: LastMessage) -> Self:
        """The resource of a preview."""
        return cls.model_validate(last, from_attributes=True)


class OwnChatResource(ChatResource):
    """A chat as one of its members sees it."""

    unread: Annotated[int, Field(description="Messages after the last one the caller has seen.")]
    last_message: LastMessageResource | None


class ChatPage(Resource):
    """A page of the caller's chats, newest first."""

    items: tuple[OwnChatResource, ...]
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
            description="As the person who sent it has posted it. Of an agent's message an opaque "
            "text, always the same."
        ),
    ]
    reply_to: int | None
    media: tuple[Media, ...]
    run_id: Annotated[
        str | None,
        Field(
            description="The run that said it, if the run belongs to this chat. Null for a "
            "person's message, and for a run of another chat, a plan or a service."
        ),
    ]
    created_at: Instant

    @classmethod
    def of(cls, message: Message) -> Self:
        """The resource of a message, as the members of its chat may see it.

        The id of a run holds the id of its home, and an agent's stored `client_id` holds the id of
        its run. Both would reveal a private chat in which the agent was told to say this.
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
    """A page of messages, the oldest first."""

    items: tuple[MessageResource, ...]
    next_cursor: str | None


class ReadState(Resource):
    """Up to where the caller has read, and what is left."""

    seen_seq: int
    unread: int
