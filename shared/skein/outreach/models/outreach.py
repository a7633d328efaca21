"""Outreach: the text or instruction, its people, and the state of each person."""

from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, StringConstraints

from skein.models.common.active_item import ActiveItem
from skein.models.common.base import (
    EntityId,
    Identifier,
    Instant,
    Name,
    Stored,
    Tenant,
    key_part,
    rfc3339,
)
from skein.models.common.reason import Reason, StoredReason
from skein.models.common.storage import META, Is, Item, Key, SortKeyPrefix, Update
from skein.models.config.templates import TemplateOfText
from skein.models.outbox.due import NOT_DUE, due_pointer
from skein.models.outbox.jobs import OutreachJob

OutreachStatus = Literal["active", "paused", "canceled"]
StoredState = Literal["waiting", "written", "refused", "expired", "canceled"]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]

MAX_PEOPLE = 500
SEGMENTS_EACH = 3  # of a person, as assumed for the pace
KEPT = timedelta(days=90)  # after the last person's turn
CHAT_NAME = "outreach"  # of the runs that write; used instead of a plan's name


class OutreachFields(BaseModel):
    """The fields of an outreach that its request, its stored item and its resource share."""

    agent_id: Annotated[EntityId, Field(description="The agent that writes.")]
    instruction: Annotated[
        Words | None,
        Field(description="What the agent writes about, to each person in its own words."),
    ] = None
    text: Annotated[
        Words | None, Field(description="The text, which each person gets as it is.")
    ] = None
    asked_by: Annotated[
        Name | None,
        Field(description="For whom the agent writes, as first texts say; null: `team_name`."),
    ] = None
    not_before: Annotated[
        Instant | None, Field(description="When the first person is written to; null: now.")
    ] = None
    not_after: Annotated[
        Instant | None, Field(description="After it, nobody is written to; null for no end.")
    ] = None
    template: TemplateOfText = None


class Outreach(OutreachFields, Stored):
    """An outreach. A separate item is stored for each of its people.

    Attributes:
        user_ids: The ids of the people, until each has an item; None afterwards.
        size: How many people there are.
        seconds: The time between the texts to two people, which depends on the line's rate.
        by: The operator.
        version: The optimistic lock: every change raises it.
        expires_at: When the outreach expires, in seconds since 1970.
    """

    tenant: Tenant
    id: Identifier
    status: OutreachStatus = "active"
    user_ids: tuple[Identifier, ...] | None = None
    size: int
    seconds: float
    by: Identifier
    version: int = 1
    created_at: Instant
    expires_at: int

    @staticmethod
    def key_of(tenant: str, outreach_id: str) -> "Key[Outreach]":
        return Key(f"{key_part(tenant)}#OUTREACH#{key_part(outreach_id)}", META)

    @property
    def key(self) -> "Key[Outreach]":
        return self.key_of(self.tenant, self.id)

    @property
    def job(self) -> OutreachJob:
        """The job that gives each person an item."""
        return OutreachJob(tenant=self.tenant, outreach_id=self.id)

    @property
    def while_active(self) -> ActiveItem:
        """The reference to this outreach, which must be active when one of its texts is posted."""
        return ActiveItem(**self.key._asdict())

    @property
    def asker(self) -> str:
        """The person or team on whose behalf the agent writes."""
        return self.asked_by or ""

    def to_item(self, due_at: datetime) -> Item:
        """Return the table attributes, with `due_at` as the time when the outreach's job runs."""
        listed = {"gsi1pk": outreach_relation(self.tenant), "gsi1sk": rfc3339(self.created_at)}
        return self.attributes() | listed | due_pointer("outreach", self.key, due_at)


class OutreachPerson(Stored):
    """One person of an outreach.

    Attributes:
        delay: The seconds from the first person's turn to this person's turn. Postponing a turn
            does not change this value.
        next_at: When to write to the person; None once the person's state is decided.
        state: What was decided; `written` once a text is posted or a run was started to write it.
        reason: Why the agent did not write to the person, or why the person's turn was postponed.
        chat_id: The direct chat with the agent, once the person was written to.
        run_id: The run that writes; None for a given text.
        seq: The number of the message with a given text.
        at: When the state was decided.
        version: The optimistic lock: every change raises it.
    """

    PREFIX: ClassVar = SortKeyPrefix("PERSON#")

    tenant: Tenant
    outreach_id: Identifier
    user_id: Identifier
    delay: float
    next_at: Instant | None = None
    state: StoredState = "waiting"
    reason: StoredReason | None = None
    chat_id: Identifier | None = None
    run_id: Identifier | None = None
    seq: int | None = None
    at: Instant | None = None
    version: int = 1
    expires_at: int

    @staticmethod
    def key_of(tenant: str, outreach_id: str, user_id: str) -> "Key[OutreachPerson]":
        partition = Outreach.key_of(tenant, outreach_id).pk
        return Key(partition, f"{OutreachPerson.PREFIX}{key_part(user_id)}")

    @property
    def key(self) -> "Key[OutreachPerson]":
        return self.key_of(self.tenant, self.outreach_id, self.user_id)

    @property
    def job(self) -> OutreachJob:
        """The job that writes to the person."""
        return OutreachJob(tenant=self.tenant, outreach_id=self.outreach_id, user_id=self.user_id)

    def to_item(self) -> Item:
        """Return the table attributes, with `next_at` as the time when the person's job runs."""
        due = {} if self.next_at is None else due_pointer("outreach", self.key, self.next_at)
        listed = {
            "gsi1pk": outreach_of_person(self.tenant, self.user_id),
            "gsi1sk": self.outreach_id,
        }
        return self.attributes() | listed | due

    def later(self, at: datetime, reason: Reason) -> Update:
        """Return the write that postpones the person's turn."""
        due = due_pointer("outreach", self.key, at) | {"due_tries": None}
        return self._write({"next_at": rfc3339(at), "reason": reason.value} | due)

    def decided(
        self,
        state: StoredState,
        at: datetime,
        *,
        reason: Reason | None = None,
        chat_id: str | None = None,
        run_id: str | None = None,
        seq: int | None = None,
    ) -> Update:
        """Return the write that stores the person's final state, such as `written` or `refused`."""
        return self._write(
            {
                "state": state,
                "at": rfc3339(at),
                "next_at": None,
                "reason": reason.value if reason is not None else None,
                "chat_id": chat_id,
                "run_id": run_id,
                "seq": seq,
                **NOT_DUE,
            }
        )

    def _write(self, change: dict[str, object]) -> Update:
        raised = change | {"version": self.version + 1}
        return Update(self.key, set=raised, condition=Is("version", self.version))


def outreach_relation(tenant: str) -> str:
    """Return the `gsi1` partition key under which a tenant's outreach is listed, oldest first."""
    return f"{key_part(tenant)}#OUTREACHES"


def outreach_of_person(tenant: str, user_id: str) -> str:
    """Return the `gsi1` partition key under which all outreach to a person is listed."""
    return f"{key_part(tenant)}#OUTREACHES#user#{key_part(user_id)}"
