"""Forgettings: people's requests to delete messages, before and after they confirm.

The transaction that stores the person's yes also stores the forgetting. A job then deletes the
messages; if the job is lost, the tick queues it again. A request that is not confirmed yet is
handled in the same way: its job searches the messages and asks the person.
"""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from skein.models.chats.chat import Message
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.user import User
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import ForgettingJob


class ForgottenMessage(Value):
    """A message to delete if the person says yes."""

    chat_id: Identifier
    seq: int


class ForgettingData(Stored):
    """The data of the question whether to forget messages.

    Attributes:
        forgets: The messages to delete. The last one is the person's request.
    """

    forgets: tuple[ForgottenMessage, ...]


class Forgetting(Stored):
    """A person's yes to forget messages; deleted when the messages are deleted.

    Attributes:
        id: The id of the question's message.
        messages: The messages to delete. The last one is the question itself.
        created_at: When the person said yes.
    """

    PREFIX: ClassVar = SortKeyPrefix("FORGETTING#")

    tenant: Tenant
    user_id: Identifier
    id: Identifier
    messages: Annotated[tuple[ForgottenMessage, ...], Field(min_length=1)]
    created_at: Instant

    @classmethod
    def of(
        cls,
        question: Message,
        forgets: tuple[ForgottenMessage, ...],
        *,
        user_id: str,
        at: datetime,
    ) -> Self:
        """Build the forgetting of a person who answered yes.

        Args:
            question: The question, which is a message of the agent.
            forgets: The messages that the question lists, and the request.
            user_id: The person.
            at: The time of the answer.
        """
        asked = ForgottenMessage(chat_id=question.chat_id, seq=question.seq)
        return cls(
            tenant=question.tenant,
            user_id=user_id,
            id=question.id,
            messages=(*forgets, asked),
            created_at=at,
        )

    @staticmethod
    def key_of(tenant: str, user_id: str, forgetting_id: str) -> "Key[Forgetting]":
        return Key(User.key_of(tenant, user_id).pk, f"{Forgetting.PREFIX}{forgetting_id}")

    @property
    def key(self) -> "Key[Forgetting]":
        return self.key_of(self.tenant, self.user_id, self.id)

    @property
    def job(self) -> ForgettingJob:
        return ForgettingJob(tenant=self.tenant, user_id=self.user_id, forgetting_id=self.id)

    def to_item(self, due_at: datetime) -> Item:
        return self.attributes() | due_pointer("choice", self.key, due_at)


class ForgetRequest(Stored):
    """A person's request to forget messages, made in a chat that others may read.

    The request is deleted when the person is asked, or when no messages are found.

    Attributes:
        id: `fgt_<digest>`, which is derived from the tool call.
        run_id: The run in which the person made the request.
        query: Words that occur in the messages.
        zone: The time zone of the days in the question.
    """

    PREFIX: ClassVar = SortKeyPrefix("FORGETREQUEST#")

    tenant: Tenant
    user_id: Identifier
    id: Identifier
    run_id: Identifier
    query: str
    zone: str
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, user_id: str, request_id: str) -> "Key[ForgetRequest]":
        return Key(User.key_of(tenant, user_id).pk, f"{ForgetRequest.PREFIX}{request_id}")

    @property
    def key(self) -> "Key[ForgetRequest]":
        return self.key_of(self.tenant, self.user_id, self.id)

    @property
    def job(self) -> ForgettingJob:
        return ForgettingJob(tenant=self.tenant, user_id=self.user_id, forgetting_id=self.id)

    def due(self, at: datetime) -> dict[str, Any]:
        return due_pointer("choice", self.key, at)
