"""Work that waits for a later time: what it waits for, and how `drain` treats it.

`POLICY` lists the kinds of waits that `drain` moves the clock past.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, get_args

from local.polling.feed import Batch
from local.polling.inbox import Held
from local.timing.due_index import DueIndex, due_at, key_of
from skein.bootstrap.job_handlers import parsed
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, rfc3339
from skein.models.common.reason import Reason
from skein.models.common.storage import Item
from skein.models.delivery.delivery import Delivery
from skein.models.outbox.due import DueKind
from skein.models.outbox.jobs import ConsentJob, DeliveryJob, InvitationJob, Job, RecallJob, RunJob
from skein.models.runs.run import Run
from skein.planning.models.plan import Plan
from skein.ports import Table
from skein.services.runs.reasons import reason_now

RUN_WORKER_JOBS: Sequence[type[Job]] = (RunJob, ConsentJob, InvitationJob)

WaitKind = Literal[
    "debounce", "order", "busy", "retry", "delay",
    "model", "model_settings", "reply", "phone", "job", "run", "plan", "background", "changes",
]  # fmt: skip
Step = Literal["turn", "wait", "leave"]

POLICY: Mapping[WaitKind, Step] = {
    # Delays of seconds, which only time ends.
    "debounce": "turn",  # a run that waits for further SMS of the same person
    "order": "turn",  # an SMS behind the previous SMS to the same phone
    "busy": "turn",  # a run of an agent that has reached its concurrency limit
    "retry": "turn",  # a run whose attempt crashed; it has three attempts
    "changes": "turn",  # changes of the table for which the feed failed; they have ten retries
    "delay": "turn",  # a job that was sent with a delay, such as the copies of a new name
    # A model that fails. Only real time can bring it back.
    "model": "wait",
    # A model that fails until the user changes a setting.
    "model_settings": "leave",
    # People.
    "reply": "leave",  # a run that has asked something
    "phone": "leave",  # an SMS that the phone or Twilio did not take
    # All other work has its own time.
    "job": "leave",  # a job that failed and comes again after its queue's visibility timeout
    "run": "leave",  # a run behind another one, or one whose worker was killed
    "plan": "leave",
    "background": "leave",  # summaries, consolidations, fading memories, erasures, quiet talks
}

# `drain` does not turn the clock past the end of any of these waits.
BARRIERS: frozenset[WaitKind] = frozenset({"model", "model_settings", "reply", "phone", "job"})

KIND_OF_REASON: Mapping[Reason, WaitKind] = {
    Reason.DEBOUNCE: "debounce",
    Reason.HANDED_OVER: "delay",
    Reason.CONCURRENCY_LIMIT: "busy",
    Reason.ATTEMPT_FAILED: "retry",
    Reason.MODEL_UNAVAILABLE: "model",
    Reason.MODEL_KEY_REFUSED: "model_settings",
    Reason.MODEL_UNKNOWN: "model_settings",
    Reason.WAITING_FOR_REPLY: "reply",
}
SINGLE: tuple[DueKind, ...] = ("run", "delivery", "plan")  # kinds that are reported one by one
MAX_SHOWN = 50
BATCH = 100


@dataclass(frozen=True, slots=True)
class Waiting:
    """One piece of work that waits.

    Attributes:
        kind: What the work waits for.
        until: When the wait ends by itself, by the local clock.
        names: The ids and the reason, for the report.
    """

    kind: WaitKind
    until: datetime
    names: Mapping[str, object] = field(default_factory=dict)

    @property
    def step(self) -> Step:
        """What `drain` does about the wait."""
        return POLICY[self.kind]

    def shown(self) -> dict[str, object]:
        """Return the waiting work as a JSON object for the report."""
        return {"kind": self.kind, **self.names, "until": rfc3339(self.until)}


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """Lists the work that waits.

    Args:
        messages: Returns the messages that wait in the queues.
        changes: Returns the batches of changes that wait for a retry.
        now: Returns the local time.
    """

    table: Table
    due_index: DueIndex
    messages: Callable[[], Sequence[Held]]
    changes: Callable[[], Sequence[Batch]]
    now: Callable[[], datetime]

    def in_queues(self) -> list[Waiting]:
        """Return the waits of messages and changes. Messages without work left are omitted."""
        found = (self._message(held) for held in self.messages())
        waiting = [each for each in found if each is not None]
        return waiting + [_changes(batch) for batch in self.changes()]

    def due_until(self, moment: datetime) -> Iterator[Waiting]:
        """Yield the waits of runs and deliveries whose due pointers are due by `moment`."""
        for kind in ("run", "delivery"):
            yield from self._single(kind, until=moment)

    def report(self) -> tuple[list[dict[str, object]], int]:
        """Return all waiting work as JSON objects, earliest first, and the number of omitted ones.

        For summaries, consolidations, fading memories, merges and erasures, there is one object for
        each kind, with their number.
        """
        found = [waiting for kind in SINGLE for waiting in self._single(kind)]
        found += [each for each in self.in_queues() if each.kind in {"job", "changes"}]
        found.sort(key=lambda waiting: waiting.until)
        shown, left = found[:MAX_SHOWN], len(found[MAX_SHOWN:])
        counted = [
            waiting
            for kind in get_args(DueKind)
            if kind not in SINGLE and (waiting := self._counted(kind)) is not None
        ]
        return [waiting.shown() for waiting in (*shown, *counted)], left

    def _single(self, kind: DueKind, *, until: datetime | None = None) -> Iterator[Waiting]:
        pointers = list(self.due_index.pointers(kind, until=until))
        for start in range(0, len(pointers), BATCH):
            batch = pointers[start : start + BATCH]
            items = self.table.get_many([key_of(pointer) for pointer in batch])
            for pointer in batch:
                item = items.get(key_of(pointer))
                waiting = self._item(kind, item, due_at(pointer)) if item else None
                if waiting is not None:
                    yield waiting

    def _counted(self, kind: DueKind) -> Waiting | None:
        times = [due_at(pointer) for pointer in self.due_index.pointers(kind)]
        if not times:
            return None
        return Waiting("background", min(times), {"work": kind, "count": len(times)})

    def _message(self, held: Held) -> Waiting | None:
        function = held.source.function.logical_id
        if held.failures:
            return Waiting("job", held.due_at, {"function": function, "failures": held.failures})
        if function == "RunWorker":
            run_job = parsed(held.message.body, RUN_WORKER_JOBS)
            if not isinstance(run_job, RunJob):
                return Waiting("delay", held.due_at, {"function": function})
            item = self.table.get(Run.key_of(run_job.tenant, run_job.run_id))
            waiting = self._item("run", item, held.due_at) if item else None
            startable = waiting is not None and waiting.names["reason"] == Reason.QUEUED
            return replace(waiting, kind="delay") if waiting and startable else waiting
        if function == "SmsDelivery":
            job = DeliveryJob.model_validate_json(held.message.body)
            item = self.table.get(Delivery.key_of(job.tenant, job.chat_id, job.delivery_id))
            return self._item("delivery", item, held.due_at) if item else None
        kind: WaitKind = "background" if _waits_for_quiet(held) else "delay"
        return Waiting(kind, held.due_at, {"function": function})

    def _item(self, kind: DueKind, item: Item, due: datetime) -> Waiting | None:
        match kind:
            case "run":
                return self._run(Run.from_item(item), due)
            case "delivery":
                return self._delivery(Delivery.from_item(item), due)
            case _:
                plan = Plan.from_item(item)
                names = {"plan_id": plan.id, "agent_id": plan.agent_id, "name": plan.name}
                return Waiting("plan", plan.next_at or due, names)

    def _run(self, run: Run, due: datetime) -> Waiting | None:
        if run.ended:
            return None
        member = self._member(run)
        reason = reason_now(run, member, self.now()) or Reason.QUEUED
        kind = KIND_OF_REASON.get(reason, "run")
        until = due
        if kind == "reply" and run.wait is not None:
            until = run.wait.until
        elif kind == "debounce" and member is not None and member.burst is not None:
            until = min(due, member.burst.until)
        elif kind != "run" and run.lease_until is not None:
            until = min(due, run.lease_until)
        return Waiting(
            kind,
            until,
            {
                "run_id": run.id,
                "agent_id": run.agent_id,
                "chat_id": run.wait_chat_id or run.own_chat_id,
                "reason": reason.value,
            },
        )

    def _member(self, run: Run) -> Membership | None:
        if run.chat_id is None:
            return None
        agent = MemberRef(kind="agent", id=run.agent_id)
        item = self.table.get(Membership.key_of(run.tenant, run.chat_id, agent))
        return Membership.from_item(item) if item else None

    def _delivery(self, delivery: Delivery, due: datetime) -> Waiting | None:
        if delivery.settled:
            return None
        now = self.now()
        tries = [part.next_at for part in delivery.parts if part.next_at and part.next_at > now]
        names = {"delivery_id": delivery.id, "chat_id": delivery.chat_id}
        if tries:
            return Waiting("phone", min(tries), {**names, "reason": delivery.reason})
        return Waiting("order", due, names)


def _waits_for_quiet(held: Held) -> bool:
    """Return whether a message waits until a chat is quiet, to index the conversation."""
    return held.source.function.logical_id == "UpkeepWorker" and (
        json.loads(held.message.body).get("kind") == RecallJob.model_fields["kind"].default
    )


def _changes(batch: Batch) -> Waiting:
    names = {"function": batch.source.name, "failures": batch.calls, "count": len(batch.changes)}
    return Waiting("changes", batch.due_at, names)
