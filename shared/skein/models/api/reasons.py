"""Reasons why a message has no answer, as the HTTP API shows them to operators."""

from typing import Annotated

from pydantic import Field

from skein.models.api.base import CreatedAt, Id, IdOfAgent, IdOfChat, Resource
from skein.models.api.chats import SenderResource
from skein.models.chats.chat import MessageKind
from skein.models.common.reason import Reason
from skein.models.delivery.delivery import DeliveryStatus
from skein.models.runs.run import RunStatus

Meaning = Annotated[str | None, Field(description="The reason in one sentence.")]


class RunReasonResource(Resource):
    """A run that a message led to, and why the run has not answered."""

    id: Id
    status: Annotated[
        RunStatus | None, Field(description="Null if the run does not exist any more.")
    ]
    reason: Annotated[Reason | None, Field(description="Null if the run has answered.")]


class AgentReasonResource(Resource):
    """What became of a message with one of the chat's agents."""

    agent_id: IdOfAgent
    reason: Annotated[
        Reason | None,
        Field(description="Why the agent gives no answer, or not yet. Null if it has answered."),
    ]
    meaning: Meaning
    runs: Annotated[
        tuple[RunReasonResource, ...],
        Field(
            description="The run that the message led to. If it was merged into another run, the "
            "other run follows."
        ),
    ]


class DeliveryReasonResource(Resource):
    """The delivery of the message, or of an answer to it, to a phone."""

    seq: Annotated[int, Field(description="The message that is delivered.")]
    id: Annotated[str | None, Field(description="Null if the message has no delivery.")]
    status: Annotated[DeliveryStatus | None, Field(description="The current state.")]
    reason: Annotated[
        Reason | None,
        Field(description="Why the SMS has not reached the phone. Null if it has."),
    ]
    meaning: Meaning
    error_codes: Annotated[tuple[int, ...], Field(description="Twilio's error codes.")]


class MessageReasonsResource(Resource):
    """Why a message has no answer, agent by agent; without the text of any message."""

    id: Id
    chat_id: IdOfChat
    seq: Annotated[int, Field(description="The number of the message in its chat.")]
    kind: Annotated[MessageKind, Field(description="The kind of item.")]
    sender: Annotated[SenderResource, Field(description="Who posted the message.")]
    correlation_id: Annotated[str | None, Field(description="By which the logs are found.")]
    created_at: CreatedAt
    run_id: Annotated[str | None, Field(description="The run that posted an agent's message.")]
    agents: Annotated[
        tuple[AgentReasonResource, ...],
        Field(description="The outcome for each agent of the chat."),
    ]
    deliveries: Annotated[
        tuple[DeliveryReasonResource, ...],
        Field(
            description="Of an agent's message, its own. Of a person's message in a direct chat, "
            "those of its answers."
        ),
    ]
