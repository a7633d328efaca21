"""Choices: questions with fixed answers, or with an answer in words, to one person.

A choice is a message of the kind `choice`. Code matches the answer; no model interprets it. The
message holds the question and its answer. `person_choices` lists a person's open choices.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from skein.models.chats.errand import ErrandOrder, ErrandRef
from skein.models.common.audience import Audience
from skein.models.common.base import Identifier, Instant, Name, NamedMember, Value
from skein.models.common.http import McpQuestion
from skein.models.common.requested_call import RequestedCall
from skein.models.config.sharing import SharingParty

ChoicePurpose = Literal[
    "question", "consent", "tool", "invitation", "number", "forgetting", "errand", "sharing"
]
"""Who asks and why: an agent (`question`), or Skein, whether words may be posted elsewhere
(`consent`), whether a tool may be called (`tool`), whether the person wants to join a chat
(`invitation`), whether an unproven number is still theirs (`number`), whether messages are to be
forgotten (`forgetting`), what another person asks (`errand`), or whether others may be told what
the person says to agents alone (`sharing`)."""

ChoiceStatus = Literal["open", "answered", "expired"]

YES = "yes"
NO = "no"
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
        seq: The message that answered; the question itself, if the person answered elsewhere.
    """

    option: str | None = None
    seq: int
    at: Instant


class Destination(Value):
    """A chat in which words are to be posted, with the readers that the person was shown.

    Attributes:
        title: The title as shown in the question.
        readers: The people who could read the chat; open for everybody in the tenant.
    """

    chat_id: Identifier
    title: str
    readers: Audience


class Proposal(Value):
    """Words that an agent wants to post in a person's name, if the person says yes.

    Attributes:
        text: Exactly these words are posted.
    """

    agent_id: Identifier
    text: Annotated[str, Field(min_length=1)]
    destinations: Annotated[
        tuple[Destination, ...], Field(min_length=1, max_length=MAX_DESTINATIONS)
    ]


class ForgottenMessage(Value):
    """A message that is deleted if the person says yes."""

    chat_id: Identifier
    seq: int


class ProposedRule(Value):
    """A sharing rule for the addressee's own words, which is made if the person says yes."""

    to: SharingParty
    reason: Name
    ends_at: Instant | None = None


class Choice(Value):
    """A question to one person, part of a message of the kind `choice`.

    Attributes:
        question: The question, without options.
        options: The fixed answers; empty for an answer in words.
        addressee: The person who may answer.
        expires_at: When it can be answered no more.
        answer: The answer; None while there is none.
        proposal: For a consent, the words and the chats.
        invited_to: For an invitation, the chat.
        call: For a tool, the call.
        asks: For a tool whose service asks, the question of the service.
        forgets: For a forgetting, the messages to delete.
        orders: For a consent to ask people, the errands that a yes orders.
        errand: For the question of an errand, the errand.
        rule: For a sharing, the rule that a yes makes.
        opens: For a sharing of earlier words, the rule to which a yes opens those of the chat.
    """

    question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
    options: tuple[Option, ...] = ()
    addressee: Identifier
    purpose: ChoicePurpose
    expires_at: Instant
    answer: ChoiceAnswer | None = None
    proposal: Annotated[Proposal | None, Field(exclude_if=lambda value: value is None)] = None
    invited_to: Annotated[Identifier | None, Field(exclude_if=lambda value: value is None)] = None
    call: Annotated[RequestedCall | None, Field(exclude_if=lambda value: value is None)] = None
    asks: Annotated[McpQuestion | None, Field(exclude_if=lambda value: value is None)] = None
    forgets: Annotated[tuple[ForgottenMessage, ...], Field(exclude_if=lambda value: not value)] = ()
    orders: Annotated[ErrandOrder | None, Field(exclude_if=lambda value: value is None)] = None
    errand: Annotated[ErrandRef | None, Field(exclude_if=lambda value: value is None)] = None
    rule: Annotated[ProposedRule | None, Field(exclude_if=lambda value: value is None)] = None
    opens: Annotated[Identifier | None, Field(exclude_if=lambda value: value is None)] = None

    def status(self, now: datetime) -> ChoiceStatus:
        """Return the status at a time; an expired choice needs no write."""
        if self.answer is not None:
            return "answered"
        return "expired" if now >= self.expires_at else "open"

    def option(self, option_id: str) -> Option | None:
        """Return the option with an id; None if there is none."""
        return next((option for option in self.options if option.id == option_id), None)


class Invited(Value):
    """A person who may join a chat, and is no member before.

    Attributes:
        member: The person.
        by: The member who invites.
        at: When.
        expires_at: When the person can accept no more.
    """

    member: NamedMember
    by: NamedMember
    at: Instant
    expires_at: Instant

    def open(self, now: datetime) -> bool:
        """Return whether the person can still accept."""
        return now < self.expires_at
