"""Resources of the HTTP API: recalled messages, and rebuilds of the index of recall."""

from typing import Annotated, Self

from pydantic import Field

from skein.models.api.base import CreatedAt, IdOfChat, Resource
from skein.models.api.chats import SenderResource
from skein.models.chats.chat import Message
from skein.models.outbox.jobs import RecallJob


class RebuildResource(Resource):
    """A requested rebuild of the index of recall; it covers all chats if both ids are null."""

    chat_id: Annotated[str | None, Field(description="The only chat to index again.")]
    agent_id: Annotated[str | None, Field(description="The only agent to index again for.")]

    @classmethod
    def of(cls, job: RecallJob) -> Self:
        """Build the resource from the job that was sent."""
        return cls(chat_id=job.chat_id, agent_id=job.agent_id)


class RecalledMessage(Resource):
    """A recalled message."""

    chat_id: IdOfChat
    seq: Annotated[int, Field(description="The number of the message in its chat.")]
    sender: Annotated[SenderResource, Field(description="Who posted the message.")]
    text: Annotated[
        str, Field(description="The text, or the best part of a text of more than 700 characters.")
    ]
    created_at: CreatedAt
    score: Annotated[
        float,
        Field(description="How well the message matches, comparable within one response only."),
    ]

    @classmethod
    def from_parts(cls, message: Message, text: str, score: float) -> Self:
        return cls(
            chat_id=message.chat_id,
            seq=message.seq,
            sender=SenderResource.of(message.sender),
            text=text,
            created_at=message.created_at,
            score=score,
        )


class RecallList(Resource):
    """Recalled messages, best first."""

    items: Annotated[tuple[RecalledMessage, ...], Field(description="The items of this page.")]
    tokens: Annotated[
        int, Field(description="Tokens of the messages as lines of a prompt, with headings.")
    ]


class FoundMessages(Resource):
    """Messages that a search found, best first; there are no further pages."""

    items: Annotated[tuple[RecalledMessage, ...], Field(description="The items of this page.")]
