"""Requests and resources of the HTTP API: chats and messages.

Requests are strict: an unknown field is refused. Every field of a resource is always present; a
missing value is null.
"""

from collections.abc import Iterator
from types import NoneType
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from skein.models.chats.chat import (
    MAX_TEXT,
    Chat,
    ChatFields,
    ChatKind,
    Media,
    Membership,
    Message,
    MessageKind,
    Visibility,
)
from skein.models.common.audience import may_show
from skein.models.common.base import EntityId, Instant, MemberKind, MemberRef, Name, PartialModel
from skein.models.common.json_types import NUMBER, JsonTrue
from skein.models.runs.run import Run

MAX_SEQ = 999_999_999_998

Seq = Annotated[int, Field(ge=0, le=MAX_SEQ), NUMBER]
OptionalName = Annotated[Name | None, Field(description="The name.")]

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
    """The body of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ChangeRequest(Request, PartialModel):
    """Changes to a resource. Omitted fields stay unchanged, and have no value here: see `given`.

    A subclass inherits the fields that have a default when the resource is created. Null resets
    those of them that may be null. Null leaves all other fields unchanged, also those that the
    subclass itself declares because a resource must have them.
    """

    @property
    def given(self) -> dict[str, Any]:
        """Return the fields that the request changes, with their new values."""
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}

    @model_validator(mode="wrap")
    @classmethod
    def _without_ignored_nulls(cls, given: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return validate(given)
        ignored = {name for name in cls.model_fields if given.get(name, cls) is None}
        ignored -= cls._resettable()
        made = validate({name: value for name, value in given.items() if name not in ignored})
        for name in cls.model_fields.keys() - made.model_fields_set:
            del vars(made)[name]  # the default of a new resource
        return made

    @classmethod
    def _resettable(cls) -> set[str]:
        """Return the names of the inherited fields that may be null."""
        inherited = cls.model_fields.keys() - cls.__annotations__.keys()
        return {
            name for name in inherited if NoneType in get_args(cls.model_fields[name].annotation)
        }


REQUEST_WORDS = frozenset(
    {
        "default",
        "maximum",
        "maxItems",
        "maxLength",
        "minimum",
        "minItems",
        "minLength",
        "pattern",
    }
)
"""The words of a JSON schema that limit or replace what a request gives."""


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a JSON schema, the types to choose from, and the types of items."""
    yield schema
    for part in [*schema.get("anyOf", ()), *filter(None, [schema.get("items")])]:
        yield from _parts(part)


class Resource(BaseModel):
    """A response body of the API, or a part of one. All fields are always present."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)

    @classmethod
    def of(cls, source: Any, /) -> Self:
        """Build the resource from an object that has its fields as attributes."""
        return cls.model_validate(source, from_attributes=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema without limits and defaults, which belong to requests.

        A client that checks responses then also accepts values of later limits.
        """
        made = handler(schema)
        for field in handler.resolve_ref_schema(made).get("properties", {}).values():
            for part in _parts(field):
                for word in REQUEST_WORDS & part.keys():
                    del part[word]
        return made


Shown = TypeVar("Shown", bound=Resource)


class Page(Resource, Generic[Shown]):
    """A page of a list."""

    items: Annotated[tuple[Shown, ...], Field(description="The items of this page.")]
    next_cursor: Annotated[
        str | None,
        Field(description="Pass it as `cursor` to get the next page; null on the last page."),
    ]

    @classmethod
    def of(cls, source: Any, /) -> Self:
        """Build the page from a listing of what `of` of the items' class takes."""
        shown = get_args(cls.model_fields["items"].annotation)[0]
        return cls(items=tuple(map(shown.of, source.items)), next_cursor=source.next_cursor)


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


class NewChat(ChatFields, Request):
    """A new chat. The caller becomes a member and need not be listed."""

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
    """Changes to a chat. Omitted fields stay; null removes `title` and `consolidate` only."""


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


class ChatResource(ChatFields, Resource):
    """A chat."""

    id: str
    kind: ChatKind
    visibility: Visibility
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


class OwnChatResource(ChatResource):
    """A chat as the caller sees it."""

    unread: Annotated[
        int, Field(description="Number of messages after the last one that the caller has read.")
    ]
    last_message: LastMessageResource | None


class ChatPage(Page[OwnChatResource]):
    """A page of the caller's chats, newest first."""


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


class AgentChatPage(Page[AgentChatResource]):
    """A page of an agent's chats, newest first."""


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


class ListedChatPage(Page[ListedChatResource]):
    """A page of the tenant's chats, newest first."""


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


class MessagePage(Page[MessageResource]):
    """A page of messages, oldest first."""


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


class MemberPage(Page[ReadingMember]):
    """A page of a chat's members, agents first."""


class ReadState(Resource):
    """The newest message that the caller has read, and the number of unread messages."""

    seen_seq: int
    unread: int
