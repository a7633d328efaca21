"""Consents: a person's agreement to post an agent's text in their name, and each post's result.

The transaction that stores the answer also stores the consent. A job then posts the text in each
chat. The consent has a due pointer, by which the tick finds it and sends a lost job again.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from skein.models.chats.chat import Message, Via
from skein.models.chats.choice import Destination, Proposal
from skein.models.common.base import Identifier, Instant, Stored, Tenant
from skein.models.common.storage import Item, Key, SortKeyPrefix
from skein.models.directory.user import User
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.models.outbox.jobs import ConsentJob

PostStatus = Literal["posting", "posted", "failed"]
PostFailure = Literal["readers_changed", "left", "discarded", "too_late", "deleted"]
"""Why the text was not posted: the chat has other readers now, the person has left the chat, the
chat was discarded, a day has passed, or the person has deleted the text."""


class ConsentData(Stored):
    """The data of a choice that asks for a consent: the text and the chats."""

    proposal: Proposal


class ConsentedDestination(Destination):
    """One chat of a consent, and whether the text was posted in it.

    Attributes:
        seq: The posted message; None if the text was not posted.
        failure: Why the text was not posted; None if it was posted or is still to be posted.
    """

    status: PostStatus = "posting"
    seq: int | None = None
    failure: PostFailure | None = None


class Consent(Stored):
    """A person's agreement to a text that an agent proposed.

    Attributes:
        id: The id of the question's message, which sorts by time.
        chat_id: The chat of the question.
        choice_seq: The question's message.
        agent_name: The name of the agent at the time.
        text: The exact text to post; empty once the person has deleted it.
        posts: The chats in which the text is posted.
        notified: Whether the person was notified of all posts that failed.
        version: The optimistic lock: every change raises it.
        created_at: When the person agreed.
        expires_at: When the consent and its question expire, in seconds since 1970.
    """

    PREFIX: ClassVar = SortKeyPrefix("CONSENT#")

    tenant: Tenant
    user_id: Identifier
    id: Identifier
    chat_id: Identifier
    choice_seq: int
    agent_id: Identifier
    agent_name: str
    text: str
    posts: Annotated[tuple[ConsentedDestination, ...], Field(min_length=1)]
    notified: bool = False
    version: int = 1
    created_at: Instant
    expires_at: int | None = None

    @classmethod
    def of(cls, question: Message, proposal: Proposal, *, user_id: str, at: datetime) -> Self:
        """Build the consent of a person who agreed.

        Args:
            question: The message with the question.
            proposal: The proposed text and chats.
            user_id: The person.
            at: When the person agreed.
        """
        return cls(
            tenant=question.tenant,
            user_id=user_id,
            id=question.id,
            chat_id=question.chat_id,
            choice_seq=question.seq,
            agent_id=proposal.agent_id,
            agent_name=question.sender.name,
            text=proposal.text,
            posts=tuple(
                ConsentedDestination(**dict(destination)) for destination in proposal.destinations
            ),
            created_at=at,
            expires_at=question.expires_at,
        )

    @staticmethod
    def key_of(tenant: str, user_id: str, consent_id: str) -> "Key[Consent]":
        return Key(User.key_of(tenant, user_id).pk, f"{Consent.PREFIX}{consent_id}")

    @property
    def key(self) -> "Key[Consent]":
        return self.key_of(self.tenant, self.user_id, self.id)

    @property
    def job(self) -> ConsentJob:
        return ConsentJob(tenant=self.tenant, user_id=self.user_id, consent_id=self.id)

    @property
    def via(self) -> Via:
        """The value of `Message.via` in the messages that are posted by this consent."""
        return Via(
            agent_id=self.agent_id,
            agent_name=self.agent_name,
            chat_id=self.chat_id,
            choice_seq=self.choice_seq,
        )

    @property
    def next_post(self) -> ConsentedDestination | None:
        """The first chat in which the text must still be posted."""
        return next((post for post in self.posts if post.status == "posting"), None)

    @property
    def failed(self) -> tuple[ConsentedDestination, ...]:
        """The chats in which the text was not posted, for another reason than its deletion."""
        return tuple(post for post in self.posts if post.failure not in {None, "deleted"})

    @property
    def over(self) -> bool:
        """Whether every post has succeeded or failed, and the person was notified of failures."""
        return self.next_post is None and (self.notified or not self.failed)

    def with_posts(
        self, changed: Callable[[ConsentedDestination], ConsentedDestination]
    ) -> "Consent":
        return self.model_copy(update={"posts": tuple(map(changed, self.posts))})

    def due(self, at: datetime) -> dict[str, Any]:
        """Return the attributes that make the consent due at `at`, or not due if it is over."""
        return dict(NOT_DUE) if self.over else due_pointer("choice", self.key, at)

    def to_item(self, due_at: datetime) -> Item:
        return self.attributes() | {
            name: value for name, value in self.due(due_at).items() if value is not None
        }
