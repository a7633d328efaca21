"""Meetings: an agent finds a time that suits all people of a group, by an errand to each of them.

Each person is asked for their times privately. The group learns only a time that suits everyone:
the answers, and the times that were read from them, are stored in the people's errands and are not
shown to the group.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, get_args

from skein.errands.models.errand import ErrandRef, OpenErrand, Slot, errands_partition
from skein.models.common.base import Identifier, Instant, NamedMember, Stored, Tenant, key_part
from skein.models.common.storage import Is, Key, Missing, Put, SortKeyPrefix, Update, Write
from skein.models.outbox.due import due_pointer
from skein.models.outbox.jobs import MeetingJob
from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import StoredAuthors
from skein.models.visibility.provenance import NO_AUTHORS

MeetingStage = Literal["collecting", "confirming", "ended"]
MeetingPost = Literal["proposal", "end"]


class Meeting(Stored):
    """A search for a time at which the people of a group can meet.

    Attributes:
        id: `mtg_<digest>`, derived from the call that ordered the meeting.
        errands: The errands of the people, one for each person.
        earliest: When the meeting may begin at the earliest.
        latest: When the meeting must have ended.
        zone: The IANA time zone in which times are shown.
        until: The deadline until which people may answer with their times.
        start: When the proposed meeting begins; None before a proposal.
        confirm_until: The deadline for the confirmations.
        version: The optimistic lock: every change raises it.
    """

    PREFIX: ClassVar = SortKeyPrefix("MEETING#")

    tenant: Tenant
    id: Identifier
    agent_id: Identifier
    scope: str | None = None
    chat_id: Identifier
    asked_by: NamedMember
    errands: tuple[ErrandRef, ...]
    topic: str
    earliest: Instant
    latest: Instant
    minutes: int
    zone: str
    audience: Audience
    authors: StoredAuthors = NO_AUTHORS
    until: Instant
    stage: MeetingStage = "collecting"
    start: Instant | None = None
    confirm_until: Instant | None = None
    version: int = 1
    created_at: Instant

    @staticmethod
    def key_of(tenant: str, ref: ErrandRef) -> "Key[Meeting]":
        return Key(errands_partition(tenant, ref), f"{Meeting.PREFIX}{key_part(ref.id)}")

    @property
    def ref(self) -> ErrandRef:
        return ErrandRef(agent_id=self.agent_id, scope=self.scope, id=self.id)

    @property
    def key(self) -> "Key[Meeting]":
        return self.key_of(self.tenant, self.ref)

    @property
    def job(self) -> MeetingJob:
        """The job that proposes a time, gets it confirmed, and tells the group."""
        return self.job_of(self.tenant, self.ref)

    @staticmethod
    def job_of(tenant: str, ref: ErrandRef) -> MeetingJob:
        return MeetingJob(tenant=tenant, agent_id=ref.agent_id, scope=ref.scope, meeting_id=ref.id)

    @property
    def post_ids(self) -> tuple[str, ...]:
        """The `client_id`s of the messages in the group that state the proposal and the outcome."""
        return tuple(map(self.post_id, get_args(MeetingPost)))

    def post_id(self, post: MeetingPost) -> str:
        return f"meeting:{self.id}:{post}"

    @property
    def length(self) -> timedelta:
        """How long the meeting takes."""
        return timedelta(minutes=self.minutes)

    def due(self, at: datetime) -> dict[str, Any]:
        return due_pointer("choice", self.key, at) | {"due_tries": None}

    def created(self) -> Iterator[Write]:
        """Yield the writes that store a new meeting, and the item that the group's prompts show."""
        due = due_pointer("choice", self.key, self.until)
        yield Put(self.key, self.attributes() | due, Missing())
        shown = OpenErrand(
            tenant=self.tenant,
            id=self.id,
            chat_id=self.chat_id,
            question=f"which times for {self.topic}?",
            audience=self.audience,
            authors=self.authors,
            until=self.until,
            created_at=self.created_at,
        )
        yield Put(OpenErrand.key_of(self.tenant, self.ref), shown.attributes())


def wake(tenant: str, ref: ErrandRef, at: datetime) -> Update:
    """Return the write that has a meeting's job run at `at`, after a step of one of its errands.

    The write fails if the meeting no longer exists.
    """
    key = Meeting.key_of(tenant, ref)
    due = due_pointer("choice", key, at) | {"due_tries": None}
    return Update(key, set=due, condition=Is("id", ref.id))


def first_common(
    times: Sequence[Sequence[Slot]], earliest: datetime, latest: datetime, length: timedelta
) -> datetime | None:
    """Return the start of the first span of the given length that suits everyone, or None.

    Args:
        times: The times of each person.
        earliest: The earliest start of the span.
        latest: The latest end of the span.
        length: The length of the span.
    """
    common = [Slot(start=earliest, end=latest)]
    for own in times:
        common = [
            Slot(start=max(one.start, other.start), end=min(one.end, other.end))
            for one in common
            for other in merged(own)
            if min(one.end, other.end) > max(one.start, other.start)
        ]
    fitting = (slot.start for slot in common if slot.end - slot.start >= length)
    return min(fitting, default=None)


def merged(times: Sequence[Slot]) -> list[Slot]:
    """Return the times in order, with times that touch or overlap merged into one."""
    joined: list[Slot] = []
    for slot in sorted(times, key=lambda each: each.start):
        if joined and slot.start <= joined[-1].end:
            end = max(joined[-1].end, slot.end)
            joined[-1] = joined[-1].model_copy(update={"end": end})
        else:
            joined.append(slot)
    return joined
