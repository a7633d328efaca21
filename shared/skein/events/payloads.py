"""The events that endpoints receive, as the OpenAPI document describes them (`webhooks`)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, create_model

from skein.events.models.endpoint import EventType
from skein.models.api.base import IdOfAgent, IdOfChat, Resource
from skein.models.api.choices import ChoicePurpose
from skein.models.chats.chat import MessageKind
from skein.models.chats.desk import DeskReason
from skein.models.chats.desk_stay import DeskEnd
from skein.models.common.base import Instant, SenderKind
from skein.models.common.reason import Reason
from skein.models.delivery.delivery import DeliveryStatus
from skein.models.runs.run import RunStatus

Presence = Literal["joined", "left"]
LimitReason = Literal["rate_limited", "token_budget", "segment_limit", "concurrency_limit"]

SeqOfMessage = Annotated[int, Field(description="The `seq` of the message.")]
MaybeChat = Annotated[str | None, Field(description="The id of the chat; null for a run without.")]
Words = Annotated[
    str | None, Field(description="The words, if the endpoint has `words` and they may be read.")
]


class Payload(Resource):
    """A part of an event; fields with a default may be absent."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)


class EventMember(Payload):
    """A person, an agent or a person of the team, without a name."""

    kind: Annotated[SenderKind, Field(description="The kind of item.")]
    id: Annotated[str, Field(description="The id, an opaque text.")]


class MessageCreated(Payload):
    """A chat has a new message."""

    chat_id: IdOfChat
    seq: SeqOfMessage
    message_id: Annotated[str, Field(description="The id of the message.")]
    kind: Annotated[MessageKind, Field(description="The kind of message.")]
    sender: Annotated[EventMember, Field(description="The sender.")]
    run_id: Annotated[str | None, Field(description="The run that wrote it; null without one.")]
    text: Words = None


class RunEnded(Payload):
    """A run is done, has failed or was canceled."""

    run_id: Annotated[str, Field(description="The id of the run.")]
    agent_id: IdOfAgent
    chat_id: MaybeChat
    status: Annotated[RunStatus, Field(description="How the run ended.")]
    reason: Annotated[Reason | None, Field(description="Why there is no answer; null otherwise.")]
    knowledge_missing: Annotated[
        bool, Field(description="Whether no source of knowledge answered the question.")
    ] = False


class DeliveryChanged(Payload):
    """The state of an SMS has changed."""

    chat_id: IdOfChat
    delivery_id: Annotated[str, Field(description="The id of the delivery.")]
    seq: SeqOfMessage
    person: Annotated[str, Field(description="The id of the person who gets the SMS.")]
    status: Annotated[DeliveryStatus, Field(description="The new state.")]
    reason: Annotated[Reason | None, Field(description="Why it failed or waits; null otherwise.")]


class ChoiceAnswered(Payload):
    """A person has answered a question."""

    chat_id: IdOfChat
    seq: Annotated[int, Field(description="The `seq` of the question.")]
    purpose: Annotated[ChoicePurpose, Field(description="Who asked, and what for.")]
    person: Annotated[str, Field(description="The id of the person who was asked.")]
    answer_seq: Annotated[int | None, Field(description="The `seq` of the answer.")]


class MemberChanged(Payload):
    """A member has joined or left a chat."""

    chat_id: IdOfChat
    member: Annotated[EventMember, Field(description="The member.")]
    status: Annotated[Presence, Field(description="Whether the member joined or left.")]


class MemoryChanged(Payload):
    """A memory is new, or has changed or ended."""

    agent_id: IdOfAgent
    memory_id: Annotated[str, Field(description="The id of the memory.")]
    status: Annotated[str, Field(description="`live`, `removed` or `superseded`.")]
    text: Words = None


class HelpRequested(Payload):
    """A chat waits for a person of the team."""

    chat_id: IdOfChat
    stay_id: Annotated[str, Field(description="The id of the chat's stay on the desk.")]
    reason_code: Annotated[DeskReason, Field(description="What put the chat on the desk.")]
    agent_id: Annotated[
        str | None, Field(description="The agent that asked for help; null if it was no agent.")
    ]
    link: Annotated[str, Field(description="The chat on the desk, in the console.")]


class HelpEnded(Payload):
    """A chat has left the desk."""

    chat_id: IdOfChat
    stay_id: Annotated[str, Field(description="The id of the chat's stay on the desk.")]
    holder: Annotated[str | None, Field(description="Who held the chat; null if it was dismissed.")]
    ended_by: Annotated[DeskEnd, Field(description="Why it left the desk.")]


class ApprovalRequested(Payload):
    """A call of a tool waits for an operator."""

    approval_id: Annotated[str, Field(description="The id of the approval.")]
    tool: Annotated[str, Field(description="The name of the tool.")]
    agent_id: IdOfAgent
    chat_id: MaybeChat
    run_id: Annotated[str, Field(description="The id of the run that made the call.")]
    link: Annotated[str, Field(description="The call on the desk, in the console.")]


class ErasureDone(Payload):
    """An erasure is done."""

    erasure_id: Annotated[str, Field(description="The id of the erasure.")]


class LimitReached(Payload):
    """A message, a run or an SMS has reached a limit; only the ids of that one are set."""

    reason: Annotated[LimitReason, Field(description="The limit.")]
    chat_id: MaybeChat = None
    seq: Annotated[int | None, Field(description="The `seq` of the message.")] = None
    run_id: Annotated[str | None, Field(description="The id of the run.")] = None
    agent_id: Annotated[str | None, Field(description="The id of the run's agent.")] = None
    delivery_id: Annotated[str | None, Field(description="The id of the delivery.")] = None
    person: Annotated[str | None, Field(description="The person who gets the SMS.")] = None
    status: Annotated[str | None, Field(description="The state of the SMS.")] = None


class SourceFailing(Payload):
    """Reading the URL of a knowledge source has failed three times in a row."""

    source_id: Annotated[str, Field(description="The id of the source.")]
    failures: Annotated[int, Field(description="How often it failed.")]


DATA: Mapping[EventType, type[Payload]] = {
    "message.created": MessageCreated,
    "run.ended": RunEnded,
    "delivery.changed": DeliveryChanged,
    "choice.answered": ChoiceAnswered,
    "member.changed": MemberChanged,
    "memory.changed": MemoryChanged,
    "help.requested": HelpRequested,
    "help.ended": HelpEnded,
    "approval.requested": ApprovalRequested,
    "erasure.done": ErasureDone,
    "limit.reached": LimitReached,
    "source.failing": SourceFailing,
}


class CloudEvent(Payload):
    """An event in the form of CloudEvents 1.0."""

    specversion: Annotated[Literal["1.0"], Field(description="The version of CloudEvents.")]
    id: Annotated[str, Field(description="The id, the same each time the event is sent.")]
    source: Annotated[str, Field(description="`/skein/` and the tenant.")]
    subject: Annotated[str, Field(description="What the event is about; orders the events.")]
    time: Annotated[Instant, Field(description="When it happened.")]
    datacontenttype: Annotated[
        Literal["application/json"], Field(description="The media type of `data`.")
    ]


def event_models() -> dict[EventType, type[CloudEvent]]:
    """Return the model of each type of event, in the order of the types."""
    return {kind: _event_model(kind) for kind in get_args(EventType)}


def _event_model(kind: EventType) -> type[CloudEvent]:
    data = DATA[kind]
    fields: dict[str, Any] = {
        "type": (Annotated[Literal[kind], Field(description="The type of the event.")], ...),
        "data": (Annotated[data, Field(description="What happened, by ids and states.")], ...),
    }
    name = f"{data.__name__}Event"
    return create_model(name, __base__=CloudEvent, __doc__=data.__doc__, **fields)
