"""The events that follow from changes of the table."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from skein.events.models.endpoint import EventType
from skein.events.models.event import Event, event_id, event_number
from skein.events.queuing import EventQueue
from skein.memory.models.memory import Memory
from skein.models.chats.chat import Message
from skein.models.chats.desk_stay import DeskStay
from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason
from skein.models.common.storage import Key, key_kind
from skein.models.delivery.delivery import Delivery
from skein.models.outbox.changes import ItemChange
from skein.models.outbox.jobs import Job
from skein.models.runs.run import ENDED, Run
from skein.models.runs.step import Step
from skein.own_tools.models.approval import ToolApproval
from skein.privacy.models.erasure import ERASURE, Erasure

SOURCE = "SOURCE"  # the kind of a source's sort key, whose model is read without its subject
SOURCE_FAILURES = 3
LIMITS = frozenset(
    {
        Reason.RATE_LIMITED,
        Reason.TOKEN_BUDGET,
        Reason.SEGMENT_LIMIT,
        Reason.CONCURRENCY_LIMIT,
    }
)


class _EventParts(NamedTuple):
    """An event without its id and number."""

    type: EventType
    tenant: str
    lane: str
    data: Mapping[str, Any]
    words_of: Key | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEvents:
    """The service that queues the events of changes."""

    events: EventQueue

    def queue(self, change: ItemChange) -> Iterator[Job]:
        """Queue the events that follow from a change, and yield the jobs that send them.

        Raises:
            LookupError, TypeError, ValueError: The item does not have the shape of its model.
            Transient: The table failed. Later changes must wait for this one.
        """
        tenant = tenant_of(change)
        if tenant is not None:
            yield from self.events.queue(tenant, events_of(change))


def tenant_of(change: ItemChange) -> str | None:
    """Return the tenant whose endpoints may get events of a change; None if no event follows."""
    if change.after is None or key_kind(change.key.sk) not in EVENTS:
        return None
    return str(change.after.get("tenant", ""))


def events_of(change: ItemChange) -> Iterator[Event]:
    """Yield the events that follow from a change; a repeated change yields the same ids.

    Raises:
        LookupError, TypeError, ValueError: The item does not have the shape of its model.
    """
    find = EVENTS.get(key_kind(change.key.sk))
    if find is None or change.after is None:
        return
    for position, found in enumerate(find(change)):
        yield Event(
            tenant=found.tenant,
            id=event_id(change.key, change.sequence, position),
            type=found.type,
            lane=found.lane,
            number=event_number(change.sequence, position),
            data=dict(found.data),
            words_of=found.words_of,
            at=change.at,
        )


def _of_message(change: ItemChange) -> Iterator[_EventParts]:
    """Yield the events of a new message, of an answered choice, and of a limit that was reached."""
    if not change.alters("choice", "reason"):
        return
    message = change.new(Message)
    before = change.old(Message)
    ids = {"chat_id": message.chat_id, "seq": message.seq}
    if before is None:
        data = ids | {
            "message_id": message.id,
            "kind": message.kind,
            "sender": message.sender.ref.model_dump(mode="json"),
            "run_id": message.run_id,
        }
        yield _EventParts("message.created", message.tenant, message.chat_id, data, message.key)
    answer = message.choice.answer if message.choice is not None else None
    answered = before is not None and before.choice is not None and before.choice.answer is not None
    if message.choice is not None and answer is not None and not answered:
        data = ids | {
            "purpose": message.choice.purpose,
            "person": message.choice.addressee,
            "answer_seq": answer.seq,
        }
        yield _EventParts("choice.answered", message.tenant, message.chat_id, data)
    if message.reason in LIMITS and (before is None or before.reason != message.reason):
        data = ids | {"reason": message.reason}
        yield _EventParts("limit.reached", message.tenant, message.chat_id, data)


def _of_run(change: ItemChange) -> Iterator[_EventParts]:
    """Yield the events of a run that has ended, and of a limit that it has reached."""
    if Step.is_stored_as(change.after or {}) or not change.alters("status", "reason"):
        return
    run = change.new(Run)
    lane = run.chat_id or run.for_chat_id or run.agent_id
    ids = {
        "run_id": run.id,
        "agent_id": run.agent_id,
        "chat_id": run.chat_id or run.for_chat_id,
        "reason": run.reason,
    }
    if run.status in ENDED and change.alters("status"):
        missing = {"knowledge_missing": True} if "knowledge_missing" in run.newer_marks else {}
        yield _EventParts("run.ended", run.tenant, lane, ids | {"status": run.status} | missing)
    if run.reason in LIMITS and change.alters("reason"):
        yield _EventParts("limit.reached", run.tenant, lane, ids)


def _of_delivery(change: ItemChange) -> Iterator[_EventParts]:
    """Yield an event if a delivery's status changed, and one if the delivery reached a limit."""
    if not change.alters("status", "reason"):
        return
    delivery = change.new(Delivery)
    data = {
        "chat_id": delivery.chat_id,
        "delivery_id": delivery.id,
        "seq": delivery.seq,
        "person": delivery.user_id,
        "status": delivery.status,
        "reason": delivery.reason,
    }
    if change.alters("status"):
        yield _EventParts("delivery.changed", delivery.tenant, delivery.chat_id, data)
    if delivery.reason in LIMITS and change.alters("reason"):
        yield _EventParts("limit.reached", delivery.tenant, delivery.chat_id, data)


def _of_membership(change: ItemChange) -> Iterator[_EventParts]:
    """Yield the event of a member who has joined or left."""
    if change.before is not None:
        return
    membership = change.new(Membership)
    data = {
        "chat_id": membership.chat_id,
        "member": membership.member.ref.model_dump(mode="json"),
        "status": "joined" if membership.active else "left",
    }
    yield _EventParts("member.changed", membership.tenant, membership.chat_id, data)


def _of_memory(change: ItemChange) -> Iterator[_EventParts]:
    """Yield the event of a memory that is new or has changed, including private ones."""
    if not change.alters("text", "status", "kind"):
        return
    memory = change.new(Memory)
    data = {"agent_id": memory.agent_id, "memory_id": memory.id, "status": memory.status}
    yield _EventParts("memory.changed", memory.tenant, memory.agent_id, data, memory.key)


def _of_stay(change: ItemChange) -> Iterator[_EventParts]:
    """Yield the events of a chat that begins to wait on the desk, and of one that leaves the desk.

    A chat that an operator takes over without a request has no event `help.requested`.
    """
    stay = change.new(DeskStay)
    ids: dict[str, Any] = {"chat_id": stay.chat_id, "stay_id": stay.id}
    if stay.ended_by is not None and change.alters("ended_by"):
        holder = stay.holder.id if stay.holder is not None else None
        data = ids | {"ended_by": stay.ended_by, "holder": holder}
        yield _EventParts("help.ended", stay.tenant, stay.chat_id, data)
    if change.before is None and stay.holder is None:
        data = ids | {"reason_code": stay.reason_code, "agent_id": stay.agent_id}
        yield _EventParts("help.requested", stay.tenant, stay.chat_id, data)


def _of_approval(change: ItemChange) -> Iterator[_EventParts]:
    """Yield the event of a call that waits for an operator."""
    if change.before is not None:
        return
    approval = change.new(ToolApproval)
    data = {
        "approval_id": approval.id,
        "tool": approval.call.tool,
        "agent_id": approval.agent_id,
        "chat_id": approval.chat_id,
        "run_id": approval.call.run_id,
    }
    lane = approval.chat_id or approval.agent_id
    yield _EventParts("approval.requested", approval.tenant, lane, data)


def _of_erasure(change: ItemChange) -> Iterator[_EventParts]:
    """Yield the event of an erasure that is done."""
    if Erasure.sort_key_in(change.key.sk) != change.key.sk or not change.alters("stage"):
        return
    erasure = change.new(Erasure)
    if erasure.stage == "done":
        yield _EventParts("erasure.done", erasure.tenant, erasure.id, {"erasure_id": erasure.id})


def _of_source(change: ItemChange) -> Iterator[_EventParts]:
    """Yield the event of a knowledge source after reading it failed three times in a row."""
    source = change.after or {}
    if change.alters("failures") and source.get("failures") == SOURCE_FAILURES:
        data = {"source_id": source["id"], "failures": SOURCE_FAILURES}
        yield _EventParts("source.failing", source["tenant"], source["id"], data)


EVENTS: Mapping[str, Callable[[ItemChange], Iterator[_EventParts]]] = {
    Message.PREFIX.kind: _of_message,
    Run.PREFIX.kind: _of_run,
    Delivery.PREFIX.kind: _of_delivery,
    Membership.PREFIX.kind: _of_membership,
    Membership.LEFT_PREFIX.kind: _of_membership,
    Memory.PREFIX.kind: _of_memory,
    DeskStay.PREFIX.kind: _of_stay,
    ToolApproval.PREFIX.kind: _of_approval,
    ERASURE.kind: _of_erasure,
    SOURCE: _of_source,
}
