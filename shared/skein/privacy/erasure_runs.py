"""Erase the content of runs, and what they posted in other chats; keep their metrics.

The first sweep skips runs that are in progress. A later sweep cancels such a run if it started
before the first sweep ended. A run that starts after that has seen no erased content, and is kept.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from skein.errors import ConditionFailed, Conflict
from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import (
    Message,
    epoch_raised,
)
from skein.models.chats.idempotency import IdempotencyRecord
from skein.models.common.base import MemberRef
from skein.models.common.reason import Reason
from skein.models.common.storage import (
    Absent,
    Delete,
    Exists,
    Is,
    Key,
    Put,
    Query,
    Update,
    all_of,
)
from skein.models.directory.agent import is_built_in
from skein.models.outbox.due import NOT_DUE
from skein.models.runs.run import Run, live_key, replays_of
from skein.models.runs.step import Step
from skein.models.runs.trigger import Trigger
from skein.models.visibility.audience import NOBODY
from skein.own_tools.models.recorded_call import CallRef, RecordedCall
from skein.ports import Table
from skein.privacy.erasure_rewrites import MessageEraser
from skein.privacy.erasure_rules import may_hold_their_words
from skein.privacy.erasure_sweep import ROWS, Sweep
from skein.services.common.pagination import items_under
from skein.services.runs.completion import RunCompletion

WHY = "a person whose words the run was shown is being erased"
SENDING = "send_message"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEraser:
    """Erases the content of runs."""

    table: Table
    completion: RunCompletion
    rewriter: MessageEraser

    def erase(self, sweep: Sweep, run: Run) -> None:
        """Erase the content of a run and keep its metrics.

        A run in progress is skipped in the first sweep. A later sweep cancels and erases it if it
        started before the first sweep ended.

        A run that has not started and belongs to no chat is canceled and erased in any sweep if its
        plan may contain the person's words, or it was to make a call for the person. If not, the
        run stays, and the person is only removed from those who may know of it.
        """
        waits = run.chat_id is None and run.started_at is None and not run.ended
        stops = sweep.to_stop(run) and sweep.erasure.swept_at is not None
        if stops or (waits and _is_for_them(sweep, run.trigger)):
            sweep.unsaved.stopped += 1
            with suppress(Conflict):
                self.completion.cancel(run, reason=Reason.PERSON_ERASED, error=WHY)
        elif not run.ended:
            if waits and _may_be_told(run, sweep.subject.ids):
                self._leave(sweep, run)
            return
        self._erase_steps(sweep, run, self._steps(run))
        changes = _bare(sweep, run)
        if changes:
            sweep.unsaved.counts["runs"] += 1
            self.table.write(Update(run.key, set=changes | NOT_DUE, condition=Exists()))

    def _leave(self, sweep: Sweep, run: Run) -> None:
        """Remove the person from the audience, and the decided call, of an unstarted run."""
        ids = sweep.subject.ids
        audience = {"audience": run.audience.without(ids).model_dump(mode="json")}
        trigger = _without(run.trigger, ids).model_dump(mode="json", exclude_none=True)
        live = Update(live_key(run), set=audience, condition=Exists())
        unstarted = all_of(Exists(), Absent("started_at"))
        change = Update(run.key, set={**audience, "trigger": trigger}, condition=unstarted)
        with suppress(ConditionFailed):  # the run has started, and the next sweep finds it
            self.table.transact([change, live])

    def erase_steps(self, sweep: Sweep, run: Run) -> None:
        """Erase the words in a run's steps, and the origins of its messages; keep the run.

        If the run is in progress, only its stored prompts are erased, because no worker reads
        those. The next sweep checks the run again.
        """
        steps = self._steps(run)
        if run.ended:
            self._erase_steps(sweep, run, steps)
            return
        sweep.unsaved.stopped += sweep.to_stop(run)
        for step in steps:
            if step.prompt is not None:
                self.table.write(Update(step.key, set={"prompt": None}, condition=Exists()))

    def posted(self, sweep: Sweep, run: Run) -> Iterator[tuple[str, int]]:
        """Yield the chat id and `seq` of each message that a run has posted."""
        steps = self._steps(run)
        for chat_id in sorted(_chats_of(run, steps)):
            for seq in sorted(self._seqs_posted_in(sweep, run, steps, chat_id)):
                yield chat_id, seq

    def _steps(self, run: Run) -> list[Step]:
        page = self.table.query(Query.under(run.key.pk, Step.prefix_of(run.key)))
        return list(Step.each_of(page.items))

    def _erase_steps(self, sweep: Sweep, run: Run, steps: list[Step]) -> None:
        self._erase_traces(sweep, run, steps)
        kept = replays_of(run.tenant, run.id)
        for item in items_under(self.table, kept.pk, kept.sk):
            self.table.write(Delete(Key(item["pk"], item["sk"])))
        if sweep.erasure.message is None:
            self._rewrite_sent(sweep, run, steps)
        for step in steps:
            for key in _recorded_calls(step):
                self.table.write(Delete(key))
            if step.prompt is not None or step.text or step.tool_calls or step.results:
                self.table.write(Update(step.key, set=BARE_STEP, condition=Exists()))
                sweep.unsaved.counts["steps"] += sweep.erasure.message is not None

    def unborrow(self, sweep: Sweep, chat_id: str, agent_id: str) -> None:
        """Delete an agent's borrowed context in a chat if it may contain the person's words.

        For the erasure of a message, all context borrowed from its chat is deleted.
        """
        key = BorrowedContext.key_of(sweep.tenant, chat_id, agent_id)
        staged = BorrowedContext.read(self.table, key)
        if staged is None:
            return
        held = any(
            sweep.is_theirs(message.sender) or may_hold_their_words(sweep, message.authors)
            for message in staged.messages
        )
        of_message = sweep.erasure.message is not None and staged.source_chat_id in sweep.chats
        if not held and not of_message:
            return
        with suppress(ConditionFailed):
            self.table.write(Delete(key, Is("staging", staged.staging)))
            sweep.unsaved.counts["borrowed"] += 1

    def _rewrite_sent(self, sweep: Sweep, run: Run, steps: list[Step]) -> None:
        """Apply the rules to the messages that a run posted outside the person's chats."""
        for chat_id in sorted(_chats_of(run, steps) - sweep.chats.keys()):
            for seq in sorted(self._seqs_posted_in(sweep, run, steps, chat_id)):
                self.rewriter.rewrite(sweep, chat_id, seq)

    def _erase_traces(self, sweep: Sweep, run: Run, steps: list[Step]) -> None:
        """Delete the context that a run borrowed, and the origins of its messages elsewhere."""
        calls = [call for step in steps for call in step.tool_calls]
        chat_ids = _chats_of(run, steps)
        if any(call.name == "borrow_context" for call in calls):
            for chat_id in sorted(chat_ids):
                self.unborrow(sweep, chat_id, run.agent_id)
        home = run.own_chat_id or (run.trigger.plan.chat_id if run.trigger.plan else None)
        if home not in sweep.chats:
            return
        for chat_id in sorted(chat_ids - {run.chat_id}):
            for seq in self._seqs_posted_in(sweep, run, steps, chat_id):
                self._remove_origin(sweep, chat_id, seq)

    def _seqs_posted_in(self, sweep: Sweep, run: Run, steps: list[Step], chat_id: str) -> set[int]:
        """Return the `seq` of each message that a run posted in a chat."""
        agent = MemberRef(kind="agent", id=run.agent_id)
        effects = [
            f"{run.id}:{step.n}:{position}"
            for step in steps
            for position, call in enumerate(step.tool_calls)
            if call.name == SENDING
        ]
        record_keys = [
            IdempotencyRecord.key_of(sweep.tenant, chat_id, agent, effect) for effect in effects
        ]
        seqs = {sent.seq for sent in run.sent if sent.chat_id == chat_id}
        final = run.final_message
        seqs |= {final.seq} if final is not None and final.chat_id == chat_id else set()
        for start in range(0, len(record_keys), ROWS):
            found = self.table.get_many(record_keys[start : start + ROWS])
            seqs |= {record.seq for record in IdempotencyRecord.read_each(found)}
        return seqs

    def _remove_origin(self, sweep: Sweep, chat_id: str, seq: int) -> None:
        """Remove a message's origin if it may contain erased words, and its link to the person.

        The time from which runs may have been shown the origin is noted, so that the stage `runs`
        finds these runs.
        """
        message = Message.read(self.table, Message.key_of(sweep.tenant, chat_id, seq))
        if message is not None and message.traced_to in sweep.subject.ids:
            self.table.write(Update(message.key, set={"traced_to": None}, condition=Exists()))
        origin = message.origin if message else None
        erased = sweep.chats.get(origin.chat_id) if origin else None
        if message is None or erased is None:
            return
        shown = dict(erased.shown_in)
        shown[chat_id] = min(shown.get(chat_id, message.created_at), message.created_at)
        if shown != erased.shown_in:
            updated = erased.model_copy(update={"shown_in": shown})
            self.table.write(Put(updated.key, updated.to_item()))
            sweep.chats[erased.chat_id] = updated
        if sweep.erasure.message is None and not (origin and sweep.is_theirs(origin.asker)):
            return  # `message_after` replaces the person's words in the origin
        sweep.unsaved.counts["origins"] += 1
        origin_removed = Update(message.key, set={"origin": None}, condition=Exists())
        self.table.transact([origin_removed, epoch_raised(sweep.tenant, chat_id)])


BARE_STEP: dict[str, Any] = {
    "text": "",
    "tool_calls": [],
    "results": None,
    "begun": None,
    "agreed": None,
    "prompt": None,
}


def _is_for_them(sweep: Sweep, trigger: Trigger) -> bool:
    """Return whether a plan is the person's or may contain their words, or a call is for them."""
    if trigger.service is not None and trigger.service.decided is not None:
        return trigger.service.decided.call.person in sweep.subject.ids
    plan = trigger.plan
    if plan is None:
        return False
    theirs = trigger.traced_to in sweep.subject.ids
    return theirs or may_hold_their_words(sweep, plan.authors, plan.made_from.writers)


def _may_be_told(run: Run, ids: Collection[str]) -> bool:
    """Return whether an unstarted run, or the call that it makes, names some people as readers."""
    return run.audience.counts(ids) or _without(run.trigger, ids) != run.trigger


def _without(trigger: Trigger, ids: Collection[str]) -> Trigger:
    """Return a trigger whose decided call does not name some people among its readers."""
    service = trigger.service
    if service is None or service.decided is None:
        return trigger
    call = service.decided.call
    call = call.model_copy(update={"readers": call.readers.without(ids)})
    decided = service.decided.model_copy(update={"call": call})
    return trigger.model_copy(update={"service": service.model_copy(update={"decided": decided})})


def _recorded_calls(step: Step) -> Iterator[Key]:
    """Yield the keys of the recorded calls that a step made to the tenant's own tools."""
    _, seq = step.answered or (0, 0)
    for position, call in enumerate(step.tool_calls):
        if not is_built_in(call.name):
            ref = CallRef(run_id=step.run_id, step=step.n, position=position)
            yield RecordedCall.key_of(step.tenant, ref, seq)


def _bare(sweep: Sweep, run: Run) -> dict[str, Any]:
    """Return the changes that reduce a run to its metrics; empty if the run is already reduced."""
    trigger = run.trigger
    by = None if sweep.is_theirs(trigger.by) else trigger.by
    bare = run.model_copy(
        update={
            "trigger": Trigger(
                type=trigger.type,
                seq=trigger.seq,
                from_seq=trigger.from_seq,
                to_seq=trigger.to_seq,
                by=by,
            ),
            "audience": NOBODY if not run.audience.open else run.audience,
            "held": None,
            "sent": (),
            "final_message": None,
            "merged_into": None,
            "error": None,
            "correlation_id": None,
            "wait": None,
            "resumed": None,
        }
    )
    before, after = run.attributes(), bare.attributes()
    return {name: after.get(name) for name in before if before.get(name) != after.get(name)}


def _chats_of(run: Run, steps: list[Step]) -> set[str]:
    """Return the chats in which a run may have posted, including all that its tool calls name."""
    calls = [call for step in steps for call in step.tool_calls]
    chat_ids = {chat_id for call in calls for chat_id in _chats_named(call.arguments)}
    chat_ids |= {sent.chat_id for sent in run.sent}
    chat_ids |= {run.final_message.chat_id} if run.final_message is not None else set()
    return chat_ids | {chat_id for chat_id in (run.own_chat_id, run.active_chat_id) if chat_id}


def _chats_named(arguments: str) -> set[str]:
    """Return the chat ids in a tool call's arguments; empty if the JSON is malformed."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return set()
    found = given.values() if isinstance(given, dict) else ()
    values = [each for value in found for each in (value if isinstance(value, list) else [value])]
    return {value for value in values if isinstance(value, str) and value.startswith("chat_")}
