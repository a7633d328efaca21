"""Record the steps and results of a run's activations, and rebuild them for new readers.

An activation is a start or resume of a run, with a prompt of its own. A step is recorded before any
of its tools is called. Every write is conditional on the fencing token of the claim, so a worker
can no longer write once another worker has taken over its run.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from skein.errors import ConditionFailed, ReadersChanged
from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason, with_reason
from skein.models.common.storage import Missing, Put, Query, Update, Write
from skein.models.runs.run import (
    NEWER_MARKS,
    HeldContent,
    RunMark,
    SentMessage,
    ShownHistory,
    ShownStaging,
)
from skein.models.runs.step import FIXED_ANSWER, Step
from skein.models.visibility.sharing_rules import RULES_CHANGED, SharingStamp
from skein.ports import Clock, Metrics, Table
from skein.services.common.optimistic import optimistic
from skein.services.runs.claim import (
    Claim,
    membership_elsewhere,
    membership_in,
    stored_of,
    with_results,
    write_claimed,
)
from skein.services.runs.slots import RunMerge, merge_queued_run

RESULT_FIELDS = ("results", "begun", "ends_run", "cited")  # of a step, written after its tool calls

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recording:
    """The writes that record a step.

    Attributes:
        claim: The claim as it will be after the writes.
        changes: The attributes of the run's item to change.
        own_writes: Writes of further items, which only this run's worker writes.
    """

    claim: Claim
    changes: dict[str, Any]
    own_writes: tuple[Write, ...]


def recording(
    claim: Claim,
    step: Step,
    *,
    shown: ShownHistory | None,
    held: HeldContent | None = None,
    sharing: SharingStamp | None = None,
    borrowed: ShownStaging | None = None,
    marks: Sequence[RunMark] = (),
    thread_id: str | None = None,
    agent_version: int | None = None,
    also: Sequence[Write] = (),
) -> Recording:
    """Build the writes that record a step.

    `shown`, `held`, `sharing`, `thread_id` and `agent_version` are used only for the first step of
    an activation.

    Args:
        step: The step. Only the first step of an activation has a prompt.
        shown: The chat that the prompt showed, and its last message; None if it showed no chat.
        held: The content of the prompt, with its audience.
        sharing: The content that is in the prompt because of sharing rules.
        borrowed: The borrowed context in the prompt, if any.
        marks: Notes for the operator on what was unusual about the prompt or the answer.
        thread_id: The thread that was active when the prompt was built.
        also: Writes that record consequences of the prompt, in the same transaction.
    """
    all_marks = dict.fromkeys([*claim.run.all_marks, *marks])
    changed = claim.with_run(
        steps_taken=step.n,
        usage=claim.run.usage + step.usage,
        model=claim.run.model if step.model == FIXED_ANSWER else step.model,
        shown=shown if step.prompt is not None else claim.run.shown,
        held=held if step.prompt is not None else claim.run.held,
        sharing=sharing if step.prompt is not None else claim.run.sharing,
        borrowed=(*claim.run.borrowed, borrowed) if borrowed else claim.run.borrowed,
        marks=tuple(mark for mark in all_marks if mark not in NEWER_MARKS),
        newer_marks=tuple(mark for mark in all_marks if mark in NEWER_MARKS),
    )
    names = ["steps_taken", "usage", "model", "shown", "held", "sharing", "borrowed"]
    names += ["marks", "newer_marks"]
    if step.prompt is not None:
        changed = changed.with_run(active_thread_id=thread_id, agent_version=agent_version)
        names += ["active_thread_id", "agent_version"]
    kept = step.model_copy(update={"expires_at": claim.kept_until(step.ended_at)})
    own_writes = (Put(step.key, kept.to_item(), Missing()), *also)
    return Recording(changed, stored_of(changed, *names), own_writes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activations:
    """The service that records and rebuilds the activations of a claimed run."""

    table: Table
    clock: Clock
    metrics: Metrics

    def steps(self, claim: Claim) -> tuple[Step, ...]:
        """Return the recorded steps of the current activation, in order."""
        steps = self.all_steps(claim)
        return tuple(step for step in steps if step.activation == claim.run.activation)

    def all_steps(self, claim: Claim) -> tuple[Step, ...]:
        """Return the run's recorded steps, over all activations, in order."""
        run = claim.run
        if run.steps_taken == 0:
            return ()
        page = self.table.query(Query.under(run.key.pk, Step.prefix_of(run.key)))
        return tuple(Step.each_of(page.items))

    def record(self, step_recording: Recording, *, acts: bool = False) -> Claim:
        """Record a step before any of its tool calls are carried out.

        Args:
            acts: Whether the step calls tools that may save or send content that the run has been
                shown.

        Raises:
            LostLease: Another worker has taken the run over.
            ReadersChanged: With `acts`: the run was shown content because of sharing rules that no
                longer allow this. Nothing was recorded.
        """
        claim = step_recording.claim
        stamp = claim.run.sharing_stamp if acts else None
        if stamp is not None and stamp.has_ended(self.clock.now()):
            raise ReadersChanged(RULES_CHANGED)
        try:
            write_claimed(
                self.table,
                claim,
                step_recording.changes,
                own=step_recording.own_writes,
                shared=stamp.unchanged(claim.run.tenant) if stamp is not None else (),
            )
        except ConditionFailed as failure:
            raise ReadersChanged(RULES_CHANGED) from failure
        return claim

    def keep_results(self, claim: Claim, step: Step, *, also: Sequence[Write] = ()) -> None:
        """Record the results of a step's tool calls, after all calls were carried out.

        Args:
            claim: The claim with the tools and the sent messages of the step (`with_results`).
            step: The step with its results, and with the writes to services that have begun.
            also: Writes of items that only the run's worker writes.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        item = step.to_item()
        made: dict[str, Any] = {name: item.get(name) for name in RESULT_FIELDS}
        kept = Update(step.key, set=made)
        names = ("sent", "tools", "active_chat_id", "active_thread_id", "held", "sharing", "marks")
        write_claimed(self.table, claim, stored_of(claim, *names), own=[kept, *also])

    def rebuild(self, claim: Claim, sent: Sequence[SentMessage]) -> Claim:
        """Drop the newest activation, and begin a new activation for the chat's current readers.

        The effects of the dropped activation are kept, and its step numbers are not used again. The
        watermarks SEEN stay where they are.

        Args:
            sent: Messages that the dropped activation has sent but not recorded yet.

        Returns:
            The claim of the new activation, with the run's chat as it is now.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        return optimistic(self.clock, lambda: self._rebuild_once(claim, sent))

    def _rebuild_once(self, claim: Claim, sent: Sequence[SentMessage]) -> Claim:
        run = claim.run
        shown_chat_id = run.held.chat_id if run.held is not None else run.active_chat_id
        dropped = run.held.borrowed if run.held is not None else None
        kept = list(run.borrowed)
        if dropped is not None and kept and kept[-1] == dropped:
            kept.pop()
        changed = with_results(claim, (), sent).with_run(
            activation=run.activation + 1,
            rebuilds=run.rebuilds + 1,
            active_chat_id=shown_chat_id,
            shown=None,
            held=None,
            sharing=None,
            borrowed=tuple(kept),
        )
        changed, membership = self._with_fresh_chat(changed, shown_chat_id)
        joined = self._joined_by_rebuild(changed, membership)
        changed = changed.with_run(**joined.run_changes)
        now, why = self.clock.now(), Reason.READERS_CHANGED
        changed = changed.with_run(reasons=with_reason(run.reasons, why, now))
        names = (
            *("sent", "activation", "rebuilds", "active_chat_id", "shown", "held", "borrowed"),
            *("sharing", "reasons"),
        )
        stored = stored_of(changed, *names, *joined.run_changes)
        write_claimed(self.table, claim, stored, shared=joined.all_writes(membership))
        joined.log()
        member = changed.member
        if membership is not None and member is not None and member.key == membership.key:
            changed = replace(
                changed, member=membership.model_copy(update=joined.membership_changes)
            )
        self.metrics.count("RunsRebuilt")
        logger.info("activation dropped", extra={"run_id": run.id, "reason": why})
        return changed

    def _with_fresh_chat(
        self, claim: Claim, shown_chat_id: str | None
    ) -> tuple[Claim, Membership | None]:
        """Read the run's chat again, and the agent's membership in the chat of the prompt."""
        if claim.chat is not None:
            chat, member = membership_elsewhere(self.table, claim, claim.chat.id)
            if chat is not None:
                claim = replace(claim, chat=chat, member=member)
        if shown_chat_id == claim.run.chat_id:
            return claim, claim.member
        return claim, membership_in(self.table, claim, shown_chat_id)

    def _joined_by_rebuild(self, claim: Claim, membership: Membership | None) -> RunMerge:
        """Merge the queued run of the chat that the new prompt shows into the rebuilt run."""
        run, now = claim.run, self.clock.now()
        if membership is None or not membership.active:
            return RunMerge({}, {}, ())
        return merge_queued_run(run, membership, widen=membership.chat_id == run.chat_id, now=now)
