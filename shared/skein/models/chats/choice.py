"""Choices: questions with fixed answers, or with an answer in words, to one person.

A choice is a message of the kind `choice`. Code matches the answer; no model interprets it. The
message holds the question and its answer. `person_choices` lists a person's open choices.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from skein.models.common.base import Identifier, Instant, NamedMember, Stored, Value
from skein.models.visibility.audience import Audience

QUESTION = "question"
"""The purpose of questions that an agent asks. Skein asks questions with other purposes."""
CALL = "tool"
"""The purpose of questions about whether to call one of the tenant's own tools."""
IN_TALK = frozenset({QUESTION, CALL})
"""The purposes of questions whose answers start the agent; such questions are conversation."""
CONSENT = "consent"
INVITATION = "invitation"

ChoiceStatus = Literal["open", "answered", "expired"]

YES = "yes"
NO = "no"
SEE = "see"
"""The only option of an announced invitation; the answer to it names the inviter and the chat."""
MAX_OPTIONS = 5
MAX_LABEL = 40
MAX_QUESTION = 1_000
MAX_PROPOSED = 400  # visible characters
MAX_DESTINATIONS = 10


class Option(Value):
    """One fixed answer of a choice."""

    id: Annotated[
        str, Field(min_length=1, max_length=40, description="The id with which it is chosen.")
    ]
    label: Annotated[
        str, Field(min_length=1, max_length=MAX_LABEL, description="The text of its button.")
    ]


class ChoiceAnswer(Value):
    """The answer to a choice: an option or words.

    Attributes:
        option: The id of the option; None for words.
        seq: The message with the answer; the question's own message, if the answer is not a message
            in the question's chat.
    """

    option: str | None = None
    seq: int
    at: Instant


class Destination(Value):
    """A chat in which a text would be posted, and its readers, as the question shows them.

    Attributes:
        title: The title as shown in the question.
        readers: The people who could read the chat at the time; open for everyone in the tenant.
    """

    chat_id: Identifier
    title: str
    readers: Audience


class Proposal(Value):
    """A text that an agent wants to post in a person's name, if the person agrees.

    Attributes:
        text: The exact text to post.
    """

    agent_id: Identifier
    text: Annotated[str, Field(min_length=1)]
    destinations: Annotated[
        tuple[Destination, ...], Field(min_length=1, max_length=MAX_DESTINATIONS)
    ]


class Choice(Value):
    """A question to one person, part of a message of the kind `choice`.

    The stored item has the attributes of `data` at its top level.

    Attributes:
        question: The question, without options.
        options: The fixed answers; empty for an answer in words.
        addressee: The person who may answer.
        purpose: What the question is for. For each purpose, an effect is registered that carries
            out the answer (`skein/interface/extensions.py`).
        expires_at: When the question can no longer be answered.
        answer: The answer; None while the question is unanswered.
        repeats: For a message that repeats a question, the message with the original question. The
            question is answered once, through either message.
        data: What the purpose's effect needs to know when an answer arrives, as JSON that the code
            of the effect parses.
    """

    question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
    options: tuple[Option, ...] = ()
    addressee: Identifier
    purpose: Identifier
    expires_at: Instant
    answer: ChoiceAnswer | None = None
    repeats: Annotated[int | None, Field(exclude_if=lambda seq: seq is None)] = None
    data: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gather_data(cls, value: Any) -> Any:
        """Move the stored attributes of `data` from the top level into `data`."""
        if not isinstance(value, dict) or "data" in value:
            return value
        known = {name: each for name, each in value.items() if name in cls.model_fields}
        return {**known, "data": {name: value[name] for name in value.keys() - known.keys()}}

    @model_serializer(mode="wrap")
    def _spread_data(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the stored form, with the attributes of the data at the top level."""
        stored: dict[str, Any] = handler(self)
        data: dict[str, Any] = stored.pop("data")
        return stored | data

    def status(self, now: datetime) -> ChoiceStatus:
        """Return the status at a time; a choice expires without a write."""
        if self.answer is not None:
            return "answered"
        return "expired" if now >= self.expires_at else "open"

    @property
    def agrees_to_call(self) -> bool:
        """Whether the person has agreed to the call of one of the tenant's own tools."""
        return self.purpose == CALL and self.answer is not None and self.answer.option != NO

    def option(self, option_id: str) -> Option | None:
        return next((option for option in self.options if option.id == option_id), None)


class InvitationData(Stored):
    """The data of a choice that asks an invited person to join a chat."""

    invited_to: Identifier


class Invited(Value):
    """A person who may join a chat that they are not a member of yet.

    Attributes:
        member: The person.
        by: The member who invites.
        at: When the person was invited.
        expires_at: When the person can no longer accept.
    """

    member: NamedMember
    by: NamedMember
    at: Instant
    expires_at: Instant

    def open(self, now: datetime) -> bool:
        """Return whether the person can still accept."""
        return now < self.expires_at
