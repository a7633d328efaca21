"""Erasure worker: erases all data of a person or of a deleted message, in several sweeps.

Each sweep runs the same stages. Each stage is idempotent and saves its progress, so another worker
can continue after a crash or at the deadline. Before a worker erases anything, it adds the erasure
to the register. Every completed erasure is therefore in the register.

The second sweep starts when every function that ran during the first sweep has ended. It erases
what these functions wrote. If a sweep after the first one cancels a run or closes a membership,
another sweep follows, up to `MAX_SWEEPS`.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Unpack

from skein.errors import ConditionFailed, LostLease
from skein.live.connections import LiveConnections
from skein.live.devices import Devices
from skein.models.common.base import rfc3339
from skein.models.common.storage import Delete, Is, Update
from skein.models.directory.user import User
from skein.models.outbox.jobs import ErasureJob
from skein.ports import Clock, Table
from skein.privacy.erasure_agent_data import KeptEraser
from skein.privacy.erasure_look_ups import LookUpEraser
from skein.privacy.erasure_material import DeletedMaterial
from skein.privacy.erasure_memberships import MembershipErasure
from skein.privacy.erasure_messages import ChatEraser, DeletedMessageEraser
from skein.privacy.erasure_register import ErasureRegister
from skein.privacy.erasure_rules import MAX_FUNCTION
from skein.privacy.erasure_run_search import RunSearch
from skein.privacy.erasure_sweep import Sweep, SweepCounts, nobody
from skein.privacy.models.erasure import (
    FIRST_STAGE,
    ErasedChat,
    Erasure,
    ErasureChanges,
    ErasureStage,
    Quotes,
    Subject,
    SweepCount,
)
from skein.services.common.pagination import items_under
from skein.services.outbox.dispatch import Dispatch

MARGIN = timedelta(seconds=60)  # added to MAX_FUNCTION between sweeps; also kept before deadlines
MAX_SWEEPS = 4

logger = logging.getLogger(__name__)

Stage = Callable[[Sweep, str | None], Iterator[str]]


class Eraser:
    """Worker that carries out erasures."""

    def __init__(
        self,
        *,
        table: Table,
        clock: Clock,
        dispatch: Dispatch,
        register: ErasureRegister,
        memberships: MembershipErasure,
        chats: ChatEraser,
        messages: DeletedMessageEraser,
        kept: KeptEraser,
        runs: RunSearch,
        look_ups: LookUpEraser,
        connections: LiveConnections,
        devices: Devices,
    ) -> None:
        self._table = table
        self._clock = clock
        self._dispatch = dispatch
        self._register = register
        self._connections = connections
        self._devices = devices
        self._memberships = memberships
        self._stages: dict[ErasureStage, Stage] = {
            "find": self._find,
            "close": memberships.close,
            "quotes": chats.quotes,
            "chats": chats.sweep,
            "kept": kept.sweep,
            "runs": runs.elsewhere,
            "rest": look_ups.sweep,
        }
        self._stages_of_message: dict[ErasureStage, Stage] = {
            FIRST_STAGE: messages.sweep,
            "kept": kept.sweep,
            "runs": messages.elsewhere,
        }

    def continue_erasure(self, job: ErasureJob, *, deadline: datetime) -> None:
        """Continue an erasure until 60 seconds before the deadline (idempotent).

        Returns without any change if the erasure is done, not due yet, or claimed by another
        worker.
        """
        try:
            erasure = self._claim(job, deadline)
            if erasure is not None:
                self._carry_out(erasure, job, deadline)
        except (ConditionFailed, LostLease):
            logger.info(
                "erasure taken over by another worker", extra={"erasure_id": job.erasure_id}
            )

    # ------------------------------------------------------------------ claiming

    def _claim(self, job: ErasureJob, deadline: datetime) -> Erasure | None:
        erasure = Erasure.read(self._table, Erasure.key_of(job.tenant, job.erasure_id))
        now = self._clock.now()
        if erasure is None or erasure.stage == "done":
            return None
        if erasure.busy(now):
            return None
        claimed = erasure.claimed(deadline)
        changes: ErasureChanges = {"fence": claimed.fence, "busy_until": deadline}
        if erasure.stage == "resting":
            if erasure.sweep_again_at is not None and erasure.sweep_again_at > now:
                return None
            changes |= {
                "stage": FIRST_STAGE,
                "after": None,
                "canceled": 0,
                "sweeps": (*erasure.sweeps, SweepCount()),
                "sweep_again_at": None,
            }
        return self._save(erasure, due_at=deadline + MARGIN, **changes)

    def _save(
        self, erasure: Erasure, *, due_at: datetime | None = None, **changes: Unpack[ErasureChanges]
    ) -> Erasure:
        """Save the progress of an erasure, guarded by its fencing token.

        Raises:
            ConditionFailed: Another worker has claimed the erasure.
        """
        changed = erasure.model_copy(update=changes)
        stored = changed.attributes()
        change = {name: stored.get(name) for name in changes}
        if due_at is not None:
            change |= changed.due(due_at) | {"due_tries": None}
        self._table.write(Update(erasure.key, set=change, condition=erasure.as_claimed))
        return changed

    # ------------------------------------------------------------------ working

    def _carry_out(self, erasure: Erasure, job: ErasureJob, deadline: datetime) -> None:
        of_person = erasure.message is None
        subject = self._subject(erasure) if of_person else nobody(erasure)
        if subject is None:
            return
        self._register.record(erasure, subject)
        sweep = Sweep(
            erasure,
            subject,
            self._erased_chats(erasure),
            SweepCounts(),
            self._clock.now(),
            self._quotes(erasure),
            DeletedMaterial(self._table, erasure.tenant).gone,
        )
        stages = self._stages if of_person else self._stages_of_message
        order = list(stages)
        for stage in order[order.index(erasure.stage) :]:
            if erasure.stage != stage:
                erasure = self._save(erasure, stage=stage, after=None)
            for position in stages[stage](sweep, erasure.after):
                erasure = self._counted(erasure, sweep, after=position)
                if self._clock.now() + MARGIN >= deadline:
                    self._continue_later(erasure, job)
                    return
            erasure = self._counted(erasure, sweep)
        self._rest_or_finish(erasure, subject)

    def _counted(self, erasure: Erasure, sweep: Sweep, **given: Unpack[ErasureChanges]) -> Erasure:
        """Add the unsaved counts to the erasure, and save it."""
        found, sweep.unsaved = sweep.unsaved, SweepCounts()
        if not found.counts and not found.stopped and not given:
            return erasure
        *earlier, current = erasure.sweeps
        counts = Counter(current.counts) + found.counts
        now = current.model_copy(update={"counts": dict(sorted(counts.items()))})
        changes: ErasureChanges = {
            "sweeps": (*earlier, now),
            "canceled": erasure.canceled + found.stopped,
        }
        changes |= given
        return self._save(erasure, **changes)

    def _continue_later(self, erasure: Erasure, job: ErasureJob) -> None:
        """Queue a job for the next invocation; if the job is lost, the tick queues another one."""
        self._save(erasure, due_at=self._clock.now() + MARGIN, busy_until=None)
        self._dispatch.send([job])

    def _rest_or_finish(self, erasure: Erasure, subject: Subject) -> None:
        now = self._clock.now()
        *earlier, current = erasure.sweeps
        sweeps = (*earlier, current.model_copy(update={"ended_at": now}))
        again = len(sweeps) == 1 or (erasure.canceled > 0 and len(sweeps) < MAX_SWEEPS)
        if again:
            at = now + MAX_FUNCTION + MARGIN
            self._save(
                erasure,
                due_at=at,
                stage="resting",
                after=None,
                sweeps=sweeps,
                busy_until=None,
                sweep_again_at=at,
            )
            return
        self._finish(erasure, subject, sweeps, now)

    def _finish(
        self, erasure: Erasure, subject: Subject, sweeps: tuple[SweepCount, ...], now: datetime
    ) -> None:
        """Mark the erasure as done, and delete its working records and the user's remaining record.

        The erasure of a message has no report, so the record of the erasure is deleted, too.
        """
        for erased in self._erased_chats(erasure).values():
            self._table.write(Delete(erased.key))
        for record in self._quote_records(erasure):
            self._table.write(Delete(record.key))
        if erasure.message is not None:
            self._table.write(Delete(erasure.key, erasure.as_claimed))
            logger.info("deleted message erased", extra={"erasure_id": erasure.id})
            return
        done = erasure.model_copy(
            update={"stage": "done", "sweeps": sweeps, "finished_at": now, "after": None}
        )
        stored = done.attributes()
        change = {name: stored.get(name) for name in ("stage", "sweeps", "finished_at", "after")}
        change |= {"busy_until": None} | done.due(None)
        bare = User.key_of(erasure.tenant, erasure.user_id)
        self._table.transact(
            [
                Update(erasure.key, set=change, condition=erasure.as_claimed),
                Delete(subject.key),
                Delete(bare, Is("erasure_id", erasure.id)),
            ]
        )
        logger.info("erasure done", extra={"erasure_id": erasure.id, "at": rfc3339(now)})

    def _find(self, sweep: Sweep, after: str | None) -> Iterator[str]:
        """Close the person's live connections, remove their devices, and find their chats."""
        for user_id in sweep.subject.ids:
            self._connections.close_all(sweep.tenant, user_id, "access_ended")
            self._devices.remove_all(sweep.tenant, user_id)
        yield from self._memberships.find(sweep, after)

    # ------------------------------------------------------------------ working records

    def _subject(self, erasure: Erasure) -> Subject | None:
        return Subject.read(self._table, Subject.key_of(erasure.tenant, erasure.id))

    def _erased_chats(self, erasure: Erasure) -> dict[str, ErasedChat]:
        first = ErasedChat.key_of(erasure.tenant, erasure.id, "")
        erased_chats = ErasedChat.each_of(items_under(self._table, first.pk, first.sk))
        return {erased.chat_id: erased for erased in erased_chats}

    def _quotes(self, erasure: Erasure) -> set[int]:
        return {each for record in self._quote_records(erasure) for each in record.word_hashes}

    def _quote_records(self, erasure: Erasure) -> Iterator[Quotes]:
        first = Quotes.prefix_of(erasure.tenant, erasure.id)
        return Quotes.each_of(items_under(self._table, first.pk, first.sk))
