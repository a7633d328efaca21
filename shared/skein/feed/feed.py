"""Feed: the jobs that follow from changes of the table.

`HANDLERS` lists the functions that make jobs, for each kind of item. The filters of the function
`Feed` in `template.yaml` select the changes, so a new kind also needs a filter.

A change may arrive twice, late, after a newer change and, rarely, not at all. So a job only names
the item to look at, and the worker reads the current items. The recall sweep finds messages whose
changes did not arrive.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from skein.errors import Transient
from skein.feed.events import ChangeEvents
from skein.live.changes import (
    merged_pushes,
    push_of_chat,
    push_of_closed_membership,
    push_of_media,
    push_of_membership,
    push_of_message,
    push_of_run,
)
from skein.models.chats.chat import Chat, Message
from skein.models.chats.media import MediaFile
from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason
from skein.models.common.storage import META, Item, key_kind
from skein.models.outbox.changes import ItemChange
from skein.models.outbox.jobs import Job, PushJob, QueueName, RecallJob
from skein.models.runs.run import Run
from skein.models.visibility.talk import SharingState
from skein.ports import Services
from skein.recall.models.own_words import OwnWordsMemory
from skein.services.outbox.dispatch import Dispatch
from skein.settings import Settings

IN_ORDER = (ChangeEvents,)  # queues events of a change, to be sent in the order of changes
NEAR_MESSAGES = 8  # between two ranges of messages that one job indexes
# The attributes of a message that recall indexes.
WORDS = ("text", "kind", "sender", "media", "files")

Handler = Callable[[ItemChange], Iterator[Job]]

logger = logging.getLogger(__name__)


class _FollowingJob(NamedTuple):
    """A job, and the positions of the changes from which it follows."""

    job: Job
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Sends the jobs that follow from changes of the table."""

    dispatch: Dispatch
    services: Services
    settings: Settings

    def forward(self, changes: Sequence[ItemChange]) -> frozenset[int]:
        """Send the jobs of a batch of changes.

        A change that cannot be handled does not hold back the jobs of other changes.

        Returns:
            The positions of the changes whose jobs were not sent.
        """
        failed: set[int] = set()
        by_queue: dict[QueueName, list[_FollowingJob]] = defaultdict(list)
        for position, change in enumerate(changes):
            handlers = HANDLERS.get(key_kind(change.key.sk), ())
            try:
                jobs = [job for handler in handlers for job in handler(change)]
            except (LookupError, TypeError, ValueError) as error:
                _warn_of(change, error)
                failed.add(position)
                continue
            for job in jobs:
                if self._unwanted(job, change):
                    continue
                by_queue[job.queue].append(_FollowingJob(job, (position,)))
        for queue, found in by_queue.items():
            self._send(queue, list(_merged(found)), failed)
        # Events come last. Queuing them is slow for a tenant with many endpoints, and would delay
        # the jobs of other tenants in the batch.
        self._send("events", list(self._queued(changes, failed)), failed)
        return frozenset(failed)

    def _send(self, queue: QueueName, following: Sequence[_FollowingJob], failed: set[int]) -> None:
        """Send jobs to one queue; if that fails, add the positions of their changes to `failed`."""
        if not following:
            return
        try:
            self.dispatch.send_surely([each.job for each in following])
        except Transient:
            logger.warning("failed to send jobs", extra={"queue": queue, "jobs": len(following)})
            failed.update(position for each in following for position in each.positions)

    def _queued(self, changes: Sequence[ItemChange], failed: set[int]) -> Iterator[_FollowingJob]:
        """Queue the events of changes, and yield one job for each lane of events.

        Events are sent in the order of the changes. So if an event cannot be queued, all later
        events wait for the next try.
        """
        lanes: dict[Job, tuple[int, ...]] = defaultdict(tuple)
        queues = [self.services.get(each) for each in IN_ORDER]
        for position, change in enumerate(changes):
            try:
                for job in chain.from_iterable(each.queue(change) for each in queues):
                    lanes[job] += (position,)
            except (LookupError, TypeError, ValueError) as error:
                _warn_of(change, error)
                failed.add(position)
            except Transient:
                logger.warning("failed to queue events", extra={"changes": len(changes) - position})
                failed.update(range(position, len(changes)))
                break
        for job, positions in lanes.items():
            yield _FollowingJob(job, positions)

    def _unwanted(self, job: Job, change: ItemChange) -> bool:
        """Return whether a job serves a feature that the deployment has disabled.

        If recall is disabled, changes of existing items are still handled, because these items may
        be in the index of recall.
        """
        if isinstance(job, PushJob):
            return not self.settings.live
        return isinstance(job, RecallJob) and change.before is None and not self.settings.recall


def _warn_of(change: ItemChange, error: Exception) -> None:
    """Log that an item does not have the shape of its model, without quoting the item."""
    why, key = type(error).__name__, "|".join(change.key)
    logger.warning("change failed", extra={"key": key, "why": why, "reason": Reason.JOB_FAILED})


def _of_message(change: ItemChange) -> Iterator[Job]:
    """Yield the recall job of a message that is new, was rewritten or was deleted."""
    if not change.alters(*WORDS):
        return
    versions = list(Message.each_of(_images(change)))
    if any(message.conversational for message in versions):
        message = versions[-1]
        yield RecallJob(
            tenant=message.tenant,
            chat_id=message.chat_id,
            first_seq=message.seq,
            last_seq=message.seq,
        )


def _of_closed_membership(change: ItemChange) -> Iterator[Job]:
    """Yield the recall job of an agent that has left a chat, or that has joined again.

    After an agent has left, a worker that read the chat earlier may still index later messages for
    this agent. The job removes them from the index. If the agent joins again, the job removes the
    messages of its earlier membership. An agent that joins for the first time needs no job, because
    the jobs of later messages index them for this agent, too.
    """
    item = change.after if change.before is None else change.before
    if item is None or (change.before is not None and change.after is not None):
        return
    membership = Membership.from_item(item)
    if membership.member.kind != "agent" or membership.left_seq is None:
        return
    if change.after is None:
        yield _of_agent(membership, membership.joined_seq + 1, membership.left_seq)
    else:
        yield _of_agent(membership, membership.left_seq + 1)


def _of_discarded_chat(change: ItemChange) -> Iterator[Job]:
    """Yield the job that removes a discarded chat from the index.

    The service that discards a chat sends the same job, but that job may be lost.
    """
    if change.before is None or change.after is None or "roster" not in change.after:
        return
    if change.before.get("discarded_at") is None and change.after.get("discarded_at") is not None:
        chat = change.new(Chat)
        yield RecallJob(tenant=chat.tenant, chat_id=chat.id)


def _of_shared_words(change: ItemChange) -> Iterator[Job]:
    """Yield the recall job of messages that a person has decided not to share."""
    after = change.after.get("sharing") if change.after is not None else None
    before = change.before.get("sharing") if change.before is not None else None
    if after is None or after == before or change.after is None:
        return
    earlier = SharingState.model_validate(before) if before is not None else None
    span = SharingState.model_validate(after).kept_since(earlier)
    if span is not None:
        yield RecallJob(
            tenant=change.after["tenant"],
            chat_id=change.after["id"],
            first_seq=span.first_seq,
            last_seq=span.last_seq,
        )


def _of_own_words(change: ItemChange) -> Iterator[Job]:
    """Yield the recall job of a new, changed or deleted memory that sharing rules may show."""
    if change.alters("text", "made_from", "scope"):
        memory = OwnWordsMemory.from_item([*_images(change)][-1])
        yield RecallJob(
            tenant=memory.tenant,
            chat_id=memory.source_chat_id,
            agent_id=memory.agent_id,
            first_seq=memory.last_seq,
            last_seq=memory.last_seq,
        )


def _of_agent(membership: Membership, first_seq: int, last_seq: int | None = None) -> RecallJob:
    return RecallJob(
        tenant=membership.tenant,
        chat_id=membership.chat_id,
        agent_id=membership.member.id,
        first_seq=first_seq,
        last_seq=last_seq,
    )


HANDLERS: Mapping[str, tuple[Handler, ...]] = {
    Message.PREFIX.kind: (_of_message, push_of_message),
    Membership.LEFT_PREFIX.kind: (_of_closed_membership, push_of_closed_membership),
    Membership.PREFIX.kind: (push_of_membership,),
    MediaFile.PREFIX.kind: (push_of_media,),
    OwnWordsMemory.PREFIX.kind: (_of_own_words,),
    Run.PREFIX.kind: (push_of_run,),
    META: (_of_discarded_chat, _of_shared_words, push_of_chat),
}


def _images(change: ItemChange) -> Iterator[Item]:
    """Yield the item as before and as after a change; only one if the item is new or deleted."""
    yield from (item for item in (change.before, change.after) if item is not None)


def _merged(found: Iterable[_FollowingJob]) -> Iterator[_FollowingJob]:
    """Yield all jobs; merge those for neighboring messages of a chat, and the pushes of a chat.

    Messages that are far apart keep their own jobs, because the worker of a job reads all messages
    from its first to its last.
    """
    ranges: dict[tuple[object, ...], list[tuple[RecallJob, tuple[int, ...]]]] = defaultdict(list)
    pushes: dict[tuple[str, str], list[tuple[PushJob, tuple[int, ...]]]] = defaultdict(list)
    for job, positions in found:
        if isinstance(job, PushJob):
            pushes[job.tenant, job.chat_id].append((job, positions))
        elif isinstance(job, RecallJob) and job.last_seq is not None:
            ranges[job.tenant, job.chat_id, job.agent_id].append((job, positions))
        else:
            yield _FollowingJob(job, positions)
    for of_chat in pushes.values():
        together = merged_pushes(job for job, _ in of_chat)
        yield _FollowingJob(together, tuple(each for _, positions in of_chat for each in positions))
    for jobs in ranges.values():
        jobs.sort(key=lambda each: each[0].first_seq)
        (first, positions), *rest = jobs
        for job, more in rest:
            last_seq = first.last_seq or 0
            if job.first_seq <= last_seq + NEAR_MESSAGES:
                newest = max(last_seq, job.last_seq or 0)
                first = first.model_copy(update={"last_seq": newest})
                positions += more
            else:
                yield _FollowingJob(first, positions)
                first, positions = job, more
        yield _FollowingJob(first, positions)
