"""Errands: questions that an agent asks a person for someone else; the answer is reported verbatim.

An errand is stored by the agent and the scope of its home chat. The question to the person is a
choice with a free-text answer. The due pointer makes the errand an outbox item: the errand's job
first asks the person. Later, it posts the answer in the home chat or, at the deadline, a notice
that there is no answer.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from skein.models.common.base import (
    Identifier,
    Instant,
    NamedMember,
    Stored,
    Tenant,
    Value,
    key_part,
    rfc3339,
)
from skein.models.common.effects import effect_id
from skein.models.common.storage import (
    Delete,
    Is,
    Key,
    Missing,
    Put,
    SortKeyPrefix,
    Update,
    Write,
)
from skein.models.directory.user import User
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.models.outbox.jobs import ErrandJob
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import StoredAuthors, owned_partition
from skein.models.visibility.provenance import NO_AUTHORS

ErrandState = Literal["open", "answered", "no_answer"]
"""An errand without an answer is `open` until the deadline and then `no_answer`, no matter whether
the person refused, was silent, has opted out, or could not be reached."""

ErrandRole = Literal["asker", "asked"]
"""The part of a person in an errand."""

MAX_ASKED = 10  # people in one order
MAX_TEXTS = 3  # texts to one person of a meeting


class Slot(Value):
    """A span of time."""

    start: Instant
    end: Instant


class ErrandRef(Value):
    """The reference to an errand or a meeting.

    Attributes:
        times: Whether the person is asked for times.
    """

    agent_id: Identifier
    scope: str | None = None
    id: Identifier
    times: Annotated[bool, Field(exclude_if=lambda value: not value)] = False

    def key(self, tenant: str) -> Key:
        return Errand.key_of(tenant, self)


class ErrandOrder(Value):
    """A person's request that an agent asks people a question; each of them gets one errand.

    Attributes:
        chat_id: The home chat, where the result is posted.
        scope: The scope of the home chat.
        asked_by: The person who asks, with their name as it appears in `text`.
        asked: The people who are asked.
        question: The words of the question.
        text: The whole text that the people get, as the asker has approved it.
        readers: The readers of the home chat at the time of the request. Only they are shown the
            answer.
        audience: The people who were present for the content that the question was made from.
        authors: The people whose words the question can contain, by digest.
        until: The deadline.
    """

    agent_id: Identifier
    chat_id: Identifier
    scope: str | None = None
    asked_by: NamedMember
    asked: Annotated[tuple[NamedMember, ...], Field(min_length=1, max_length=MAX_ASKED)]
    question: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    readers: Audience
    audience: Audience
    authors: StoredAuthors = NO_AUTHORS
    until: Instant


class ErrandData(Stored):
    """The reference to an errand that is stored in the question to the person."""

    errand: ErrandRef


class OrderData(Stored):
    """The errands to start after a yes, stored in the question that asks for approval."""

    orders: ErrandOrder


class Errand(Stored):
    """A question that an agent asks one person on behalf of someone else.

    Attributes:
        id: `err_<digest>`, derived from the call or the choice that ordered the errand.
        group_id: The id that all errands of one order share.
        asked_at: When the person was asked. None before that, or if the person cannot be reached.
        choice_chat_id: The chat of the question.
        choice_seq: The message of the question.
        answer: The words of the answer; None if there is no answer.
        answered_at: When the person answered.
        ended_at: When the errand ended. An errand of a meeting ends when Skein has read the free
            times from the answer; later, the person may still be asked to confirm a time. Any other
            errand ends when the result is posted in the home chat.
        meeting: The meeting, if the person is asked for times. The person's answer is then not
            posted in the group.
        times: The times that were read from the answer; None before that.
        asked_back: Whether the person was asked a second time, after an unclear answer.
        confirm_seq: The message that asks the person to confirm the proposed time.
        confirmed: Whether the person confirms the proposed time; None before the person answers.
        texts: The number of messages that the person got about the meeting.
        line_scope: The scope of the `OpenErrand` item, if it changed because accounts were linked.
        version: The optimistic lock: every change raises it.
    """

    PREFIX: ClassVar = SortKeyPrefix("ERRAND#")

    tenant: Tenant
    id: Identifier
    group_id: Identifier
    agent_id: Identifier
    scope: str | None = None
    chat_id: Identifier
    asked_by: NamedMember
    asked: NamedMember
    question: str
    text: str
    readers: Audience
    audience: Audience
    authors: StoredAuthors = NO_AUTHORS
    until: Instant
    asked_at: Instant | None = None
    choice_chat_id: Identifier | None = None
    choice_seq: int | None = None
    answer: str | None = None
    answered_at: Instant | None = None
    ended_at: Instant | None = None
    meeting: Annotated[ErrandRef | None, Field(exclude_if=lambda value: value is None)] = None
    times: Annotated[tuple[Slot, ...] | None, Field(exclude_if=lambda value: value is None)] = None
    asked_back: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    confirm_seq: Annotated[int | None, Field(exclude_if=lambda value: value is None)] = None
    confirmed: Annotated[bool | None, Field(exclude_if=lambda value: value is None)] = None
    texts: Annotated[int, Field(exclude_if=lambda value: not value)] = 0
    line_scope: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None
    version: int = 1
    created_at: Instant

    @classmethod
    def ordered(
        cls,
        tenant: str,
        order: ErrandOrder,
        *,
        cause: str,
        at: datetime,
        meeting: ErrandRef | None = None,
    ) -> tuple[Self, ...]:
        """Return the errands of an order, one for each person.

        Args:
            cause: The id of the call or choice that ordered them. The same cause results in the
                same errands.
            at: The time of the order.
            meeting: The meeting for which the people are asked.
        """
        shared = {name: getattr(order, name) for name in ErrandOrder.model_fields}
        del shared["asked"]
        group = f"erg_{effect_id(tenant, cause)}"
        return tuple(
            cls(
                tenant=tenant,
                id=f"err_{effect_id(tenant, cause, person.id)}",
                group_id=group,
                asked=person,
                meeting=meeting,
                created_at=at,
                **shared,
            )
            for person in order.asked
        )

    @staticmethod
    def key_of(tenant: str, ref: ErrandRef) -> "Key[Errand]":
        return Key(errands_partition(tenant, ref), f"{Errand.PREFIX}{key_part(ref.id)}")

    @property
    def ref(self) -> ErrandRef:
        times = self.meeting is not None
        return ErrandRef(agent_id=self.agent_id, scope=self.scope, id=self.id, times=times)

    @property
    def key(self) -> "Key[Errand]":
        return self.key_of(self.tenant, self.ref)

    @property
    def line_key(self) -> Key:
        """The key of the `OpenErrand` item, which shows the errand in prompts of the home chat."""
        scope = self.line_scope or self.scope
        return OpenErrand.key_of(self.tenant, self.ref.model_copy(update={"scope": scope}))

    @property
    def job(self) -> ErrandJob:
        """The job that does the errand's next step: ask the person, or report to the home chat."""
        return ErrandJob(
            tenant=self.tenant, agent_id=self.agent_id, scope=self.scope, errand_id=self.id
        )

    @property
    def report_id(self) -> str:
        """The `client_id` of the message that reports the result to the home chat."""
        return f"errand:{self.id}"

    def question_id(self, which: str = "") -> str:
        """Return the `client_id` of a question to the person.

        Args:
            which: `back` for the second question about times, `confirm` for the question whether a
                time suits, and empty for the first question.
        """
        return ":".join(filter(None, [self.report_id, self.asked.id, which]))

    @property
    def over(self) -> bool:
        """Whether the errand has ended."""
        return self.ended_at is not None

    @property
    def may_ask(self) -> bool:
        """Whether the person may get two more messages: one about times, one to confirm a time."""
        return self.meeting is None or self.texts + 2 <= MAX_TEXTS

    @property
    def may_confirm(self) -> bool:
        """Whether the person may get one more message, which asks to confirm the proposal."""
        return self.confirm_seq is None and self.texts < MAX_TEXTS

    def may_tell(self, now: datetime, *, over: bool) -> bool:
        """Return whether the person may get a notice that their SMS did not answer a question.

        Each question has a code with which the person answers it by SMS; the notice is for a code
        that does not fit. The notice counts toward the limit of messages. If the person was not
        asked to confirm a time yet, one message is kept for that question.

        Args:
            now: The time.
            over: Whether the code belongs to a question that has ended. Then the person gets the
                notice only if they cannot be asked again.
        """
        if over and not self.over and now < self.until:
            return False
        return self.texts + 1 + (self.confirm_seq is None) <= MAX_TEXTS

    def texted(self) -> dict[str, int]:
        """Return the change that adds 1 to the number of messages about the meeting.

        The change is empty for an errand without a meeting.
        """
        return {"texts": self.texts + 1} if self.meeting is not None else {}

    def state(self, now: datetime) -> ErrandState:
        if self.answer is not None:
            return "answered"
        return "no_answer" if self.over or now >= self.until else "open"

    def shown_to(self, role: ErrandRole, now: datetime) -> dict[str, Any] | None:
        """Return the attributes that the asker or the asked person may see; None if there are none.

        The asker does not learn whether the question has reached the asked person. The asked person
        sees the question and their own answer.
        """
        if role == "asked" and self.asked_at is None:
            return None
        seen = {
            "id",
            "agent_id",
            "asked_by",
            "asked",
            "text",
            "until",
            "answer",
            "answered_at",
            "created_at",
        } | ({"question", "chat_id"} if role == "asker" else {"asked_at"})
        shown = self.model_dump(mode="json", include=seen)
        return shown | {"role": role, "state": self.state(now)}

    def due(self, at: datetime) -> dict[str, Any]:
        return due_pointer("choice", self.key, at) | {"due_tries": None}

    def ended(self, at: datetime) -> tuple[Write, ...]:
        """Return the writes that end the errand (optimistic lock)."""
        change = {"ended_at": rfc3339(at), "version": self.version + 1} | NOT_DUE
        ended = Update(self.key, set=change, condition=Is("version", self.version))
        return ended, Delete(self.line_key)

    def created(self, due_at: datetime) -> Iterator[Write]:
        """Yield the writes that store a new errand, its due pointer and its links.

        An errand that asks for times is not listed for the asker, operators or prompts, so that no
        list reveals who has answered.
        """
        listed = {
            "gsi1pk": errands_relation(self.tenant),
            "gsi1sk": f"{rfc3339(self.created_at)}#{self.id}",
        }
        due = due_pointer("choice", self.key, due_at)
        if self.meeting is not None:
            yield Put(self.key, self.attributes() | due, Missing())
            yield self._link("asked", self.asked)
            return
        yield Put(self.key, self.attributes() | listed | due, Missing())
        shown = {name: getattr(self, name) for name in OpenErrand.model_fields}
        yield Put(self.line_key, OpenErrand(**shown).attributes())
        yield self._link("asker", self.asked_by)
        yield self._link("asked", self.asked)

    def _link(self, role: ErrandRole, person: NamedMember) -> Write:
        link = ErrandLink(
            tenant=self.tenant,
            user_id=person.id,
            role=role,
            errand=self.ref,
            created_at=self.created_at,
        )
        return Put(link.key, link.attributes())


def errands_partition(tenant: str, ref: ErrandRef) -> str:
    """Return the partition key of errands and meetings.

    Errands have a partition of their own, because an export of the agent's other items must not
    reveal whether the person was asked.
    """
    return f"{owned_partition(tenant, ref.agent_id, ref.scope)}#ERRANDS"


class OpenErrand(Stored):
    """An open errand, as prompts of its home chat show it until the result is posted there.

    The item is stored among the items that each prompt reads in one query
    (`agent/reading/owned_items.py`).

    Attributes:
        asked: The person; None if everyone in the chat is asked.
    """

    PREFIX: ClassVar = SortKeyPrefix("OPEN_ERRAND#")

    id: Identifier
    tenant: Tenant
    chat_id: Identifier
    asked: NamedMember | None = None
    question: str
    audience: Audience
    authors: StoredAuthors = NO_AUTHORS
    until: Instant
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, ref: ErrandRef) -> "Key[OpenErrand]":
        """Return the key of the item that shows an errand in prompts."""
        pk = owned_partition(tenant, ref.agent_id, ref.scope)
        return Key(pk, f"{OpenErrand.PREFIX}{key_part(ref.id)}")


class ErrandLink(Stored):
    """A link from a person to an errand that they ordered or are asked in, for lists of errands.

    Attributes:
        role: Whether the person asks or is asked.
    """

    PREFIX: ClassVar = SortKeyPrefix("ERRANDLINK#")
    asked_by_person: ClassVar = SortKeyPrefix("ERRANDLINK#asker#")

    tenant: Tenant
    user_id: Identifier
    role: ErrandRole
    errand: ErrandRef
    created_at: Instant

    @property
    def key(self) -> Key:
        """The key of this link; a person's links with the same role are sorted by time."""
        order = f"{self.role}#{rfc3339(self.created_at)}#{key_part(self.errand.id)}"
        return Key(User.key_of(self.tenant, self.user_id).pk, f"{self.PREFIX}{order}")


def errands_relation(tenant: str) -> str:
    """Return the `gsi1` partition key under which a tenant's errands are listed, oldest first."""
    return f"{key_part(tenant)}#ERRANDS"
