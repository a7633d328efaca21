"""The open choices of one person, in all chats, with their limits and the codes for SMS."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Self

from pydantic import Field

from skein.models.common.address import Address
from skein.models.common.base import Identifier, Instant, Stored, Tenant, Value
from skein.models.common.storage import Item, Key
from skein.models.directory.user import User
from skein.models.outbox.due import due_pointer

MAX_OPEN = 3  # the maximum number of open questions to a person in one chat
MAX_LISTED = 60  # the maximum number of open questions to a person in all chats
MAX_INVITATIONS = 3
MAX_CONSENTS_A_DAY = 5  # questions for a consent, per day, to a person in one chat
MAX_REFUSALS_A_DAY = 2  # of consents to an agent in a chat, after which it asks no more that day
MAX_OVER = 100  # the maximum number of codes of choices that have ended
MAX_WRONG_CODES = 5  # the number after which answers by SMS are closed for a day

Code = Annotated[str, Field(pattern=r"^[0-9]{6}$")]


class OpenChoice(Value):
    """A choice that a person can answer.

    Attributes:
        chat_id: The chat of the question; for an invitation without a question, the chat to join.
        seq: The question's message; None for an invitation that is only in the app.
        repeated_seq: The message that repeats the question; None if it was not repeated.
        agent_id: The agent that asks, or the agent in whose direct chat Skein asks; None for an
            invitation that was not sent by SMS.
        codes: For SMS, the code of each option, or one code if the answer is in words.
        labels: For SMS, the label of each option; empty if the answer is in words.
        invited_to: For an invitation, the chat to join.
        invited_by: For an invitation, the inviter.
        number: For a question about who owns a phone number, that phone number.
        ask_at: For an invitation, when the tick asks the person by SMS if that has not happened
            yet; None once the person was asked, or cannot be asked.
    """

    chat_id: Identifier
    seq: int | None = None
    repeated_seq: Annotated[int | None, Field(exclude_if=lambda seq: seq is None)] = None
    purpose: Identifier
    agent_id: Identifier | None = None
    expires_at: Instant
    codes: Annotated[dict[str, Code], Field(exclude_if=lambda codes: not codes)] = Field(
        default_factory=dict
    )
    labels: Annotated[dict[str, str], Field(exclude_if=lambda labels: not labels)] = Field(
        default_factory=dict
    )
    invited_to: Identifier | None = None
    invited_by: Identifier | None = None
    number: Annotated[Address | None, Field(exclude_if=lambda value: value is None)] = None
    ask_at: Annotated[Instant | None, Field(exclude_if=lambda value: value is None)] = None

    @property
    def seqs(self) -> tuple[int, ...]:
        """The messages that show the question: the original and its repetition."""
        return tuple(seq for seq in (self.seq, self.repeated_seq) if seq is not None)

    @property
    def in_words(self) -> bool:
        """Whether the choice has a code for an answer in words."""
        return bool(self.codes) and not self.labels

    def over_codes(self, until: datetime) -> tuple["OverCode", ...]:
        """Return this choice's codes as entries of `PersonChoices.over`, kept until `until`."""
        ended = {"chat_id": self.chat_id, "seq": self.seq, "until": until}
        return tuple(OverCode(code=code, **ended) for code in self.codes.values())


class OverCode(Value):
    """The code of an ended choice. It is kept so that a late SMS gets an explanation.

    Attributes:
        chat_id: The chat of the question.
        seq: The question's message.
        until: The time until which the code is kept.
    """

    code: Code
    chat_id: Identifier
    seq: int | None = None
    until: Instant


class DayCounts(Value):
    """The daily counts for a person in one chat.

    Attributes:
        consents: How often the person was asked for a consent.
        refusals: How often the person refused a consent, by agent id.
    """

    consents: int = 0
    refusals: dict[str, int] = Field(default_factory=dict)


class PersonChoices(Stored):
    """The open choices of one person, stored as one item.

    Attributes:
        open: The choices, oldest first. Readers skip those that have expired; the next write drops
            them.
        invited_in: The chats that may list the person in `Chat.invited`, even after the invitation
            has expired. An erasure checks these chats.
        over: Codes of choices that ended within the last day, at most 100.
        day: The UTC day of the counts.
        counts: The counts of `day`, by chat.
        wrong_codes: The number of wrong codes by SMS since the last right one.
        sms_closed_until: The time until which answers by SMS are not accepted.
        version: The optimistic lock: every change raises it.
    """

    tenant: Tenant
    user_id: Identifier
    open: tuple[OpenChoice, ...] = ()
    invited_in: Annotated[tuple[Identifier, ...], Field(exclude_if=lambda ids: not ids)] = ()
    over: tuple[OverCode, ...] = ()
    day: date | None = None
    counts: dict[Identifier, DayCounts] = Field(default_factory=dict)
    wrong_codes: int = 0
    sms_closed_until: Instant | None = None
    version: int = 0

    @staticmethod
    def key_of(tenant: str, user_id: str) -> "Key[PersonChoices]":
        return Key(User.key_of(tenant, user_id).pk, "CHOICES")

    @property
    def key(self) -> "Key[PersonChoices]":
        return self.key_of(self.tenant, self.user_id)

    @property
    def to_ask(self) -> tuple[OpenChoice, ...]:
        """The invitations about which the person is still to be asked by SMS."""
        return tuple(choice for choice in self.open if choice.ask_at is not None)

    def asking_at(self, times: Sequence[tuple[OpenChoice, datetime | None]]) -> "PersonChoices":
        """Return the person's choices with new values of `ask_at` for some invitations.

        Args:
            times: Invitations as they were read, each with its new `ask_at`. An invitation that has
                changed since keeps its `ask_at`.
        """
        settled = tuple(
            next((_asked_at(choice, at) for each, at in times if each == choice), choice)
            for choice in self.open
        )
        return self.model_copy(update={"open": settled})

    @classmethod
    def from_item(cls, item: Item) -> Self:
        repeated = item.get("repeated", {})
        listed = [
            {**one, "repeated_seq": repeated[where]} if (where := _place(one)) in repeated else one
            for one in item.get("open", ())
        ]
        return super().from_item({**item, "open": listed})

    def attributes(self) -> Item:
        """Return the choices as table attributes.

        `repeated_seq` of the open choices is stored in an attribute of its own, because release
        0.3.0 refuses an open choice with a field that it doesn't know.
        """
        made = super().attributes()
        repeated = {
            _place(one): one.pop("repeated_seq") for one in made["open"] if "repeated_seq" in one
        }
        return {**made, "repeated": repeated} if repeated else made

    def to_item(self) -> Item:
        """Return the choices as table attributes, due when the person must next be asked by SMS."""
        times = [choice.ask_at for choice in self.open if choice.ask_at is not None]
        return self.attributes() | (due_pointer("choice", self.key, min(times)) if times else {})


def _place(listed: Item) -> str:
    return f"{listed['chat_id']}#{listed.get('seq')}"


def _asked_at(choice: OpenChoice, at: datetime | None) -> OpenChoice:
    return choice.model_copy(update={"ask_at": at})
