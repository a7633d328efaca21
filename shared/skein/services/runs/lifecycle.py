"""The lifecycle of a run: a table of its events, with their statuses, reasons and writes.

An event is one write of the run's item, in one transaction with the items in `together`. Each write
of a worker is conditional on the fencing token and the status. `docs/runs.md` shows the table and a
diagram made from it, and `tests/unit/runs/test_lifecycle.py` compares it with the writes of runs.
"""

from collections.abc import Collection
from typing import NamedTuple

from skein.models.common.reason import Reason
from skein.models.common.storage import META
from skein.models.runs.run import RunStatus


class Event(NamedTuple):
    """A write of a run's item.

    Attributes:
        name: What happens.
        before: The statuses in which the event can happen; empty for a new run.
        after: The status to which the event leads; None if the status does not change.
        sets: The attributes that distinguish this write from the writes of other events.
        written: A description of the write, for readers of the docs.
        writes: The functions that make the write, in `services/runs` or `services/replies`.
        together: The other items of the transaction, by the first part of their sort keys.
        reasons: The reasons that the event can store; empty for an event that needs no reason.
    """

    name: str
    before: tuple[RunStatus, ...]
    after: RunStatus | None
    written: str
    writes: str
    sets: frozenset[str] = frozenset()
    together: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()

    def fits(
        self, before: RunStatus | None, after: str | None, attributes: Collection[str]
    ) -> bool:
        """Return whether a write of a run's item can be this event.

        Args:
            before: The status in the write's condition; None for a new run.
            after: The status that is written, if any.
            attributes: The attributes that are written.
        """
        begins = before in self.before if self.before else before is None
        return begins and after == self.after and self.sets <= set(attributes)


LIVE: tuple[RunStatus, ...] = ("queued", "running", "waiting")
POSTED = ("MSG", META, "DEDUPE", "DELIVERY", "MEMBER")  # a message that enters its chat

LIFECYCLE: tuple[Event, ...] = (
    Event(
        "trigger",
        (),
        "queued",
        "the new run, and its slot; with the message that starts it, or else an item for "
        "each run at work",
        "slots.enqueue, background_runs.agent_run",
        together=(*POSTED, "LIVE", "RUN", "CHOICES"),
    ),
    Event(
        "claim",
        ("queued", "running"),
        "running",
        "fencing token + 1, lease; slots; the person's permit; the merged run as `canceled`",
        "lease.RunLeases._take",
        frozenset({"fence", "attempts", "lease_until"}),
        together=("MEMBER", META, "RUN"),
    ),
    Event(
        "no permit",
        ("queued", "running"),
        None,
        "the next time to look for a permit",
        "lease.RunLeases._await_permit",
        frozenset({"deferrals", "due_tries", "reason"}),
        reasons=(Reason.CONCURRENCY_LIMIT,),
    ),
    Event(
        "hold back",
        ("queued", "running"),
        "queued",
        "fencing token + 1, no lease, until the chat is handed back",
        "lease.held_back",
        frozenset({"fence", "lease_until"}),
        reasons=(Reason.DESK,),
    ),
    Event(
        "pause",
        ("queued", "running"),
        None,
        "the next time to look",
        "lease.RunLeases._hold_back, lease.RunLeases._may_write",
        frozenset({"reason", "due_tries"}),
        reasons=(Reason.PAUSED,),
    ),
    Event(
        "answer with calls",
        ("running",),
        None,
        "the step, with the prompt if it is the activation's first; steps, usage, shown "
        "history, marks",
        "activations.Activations.record",
        frozenset({"steps_taken", "usage"}),
        together=("RUN STEP", "RUNLINK", "DISCLOSED"),
    ),
    Event(
        "results",
        ("running",),
        None,
        "the results; tools used, messages sent, active chat",
        "activations.Activations.keep_results",
        frozenset({"sent", "tools"}),
        together=("RUN STEP", "DISCLOSED"),
    ),
    Event(
        "question",
        ("running",),
        "waiting",
        "the message; the wait; the slot in the run's own chat is freed, SEEN is moved",
        "replies.ask_and_wait.Questions.ask",
        frozenset({"wait", "lease_until"}),
        together=POSTED,
    ),
    Event(
        "question with a reply",
        ("running",),
        None,
        "the message; the next activation; SEEN is moved; the queued run is merged",
        "replies.ask_and_wait.Questions.ask",
        frozenset({"activation", "resumed", "sent"}),
        together=(*POSTED, "RUN"),
    ),
    Event(
        "reply or time-out",
        ("waiting",),
        "queued",
        "the wait is removed; `resuming` in the run's own chat; with the reply, if one came",
        "waits.resumed_by, waits.timed_out, waits.release_wait",
        frozenset({"resumed", "wait"}),
        together=POSTED,
    ),
    Event(
        "rebuild",
        ("running",),
        None,
        "the next activation, no shown history, no held content; the queued run is merged",
        "activations.Activations.rebuild",
        frozenset({"activation", "rebuilds"}),
        together=("MEMBER", "RUN"),
        reasons=(Reason.READERS_CHANGED,),
    ),
    Event(
        "retry, deferral or hand-over",
        ("running",),
        None,
        "the end of the lease",
        "lease.RunLeases._postpone",
        frozenset({"lease_until", "reason"}),
        reasons=(
            *(Reason.ATTEMPT_FAILED, Reason.HANDED_OVER, Reason.WORKER_LOST),
            *(Reason.CONCURRENCY_LIMIT, Reason.MODEL_UNAVAILABLE, Reason.MODEL_KEY_REFUSED),
            Reason.MODEL_UNKNOWN,
        ),
    ),
    Event(
        "merge",
        ("queued",),
        "canceled",
        "the queued run ends in the transaction of the run that shows its messages",
        "slots.merge_queued_run",
        frozenset({"merged_into", "ended_at", "error"}),
        together=(*POSTED, "RUN"),
        reasons=(Reason.MERGED,),
    ),
    Event(
        "end",
        ("running",),
        "done",
        "the last step and the final message, unless they were written before; the slot is "
        "freed, SEEN is moved; the run of the next agent that was asked",
        "completion.RunCompletion.end, completion.RunCompletion.ended_in",
        frozenset({"ended_at", "final_message"}),
        together=(*POSTED, "RUN", "RUN STEP", "LIVE", "BORROWED", "RUNLINK", "DISCLOSED"),
        reasons=(
            *(Reason.CHOSE_SILENCE, Reason.ENDED_BY_AGENT, Reason.STEPS_USED_UP, Reason.NO_CHAT),
            *(Reason.TOOLS_MODE_TEXT, Reason.UNSPOKEN_TEXT, Reason.ANSWERED_ELSEWHERE),
        ),
    ),
    Event(
        "failure",
        ("queued", "running"),
        "failed",
        "as at the end, without a message",
        "completion.RunCompletion.end",
        frozenset({"ended_at", "error"}),
        together=("MEMBER", "RUN", "RUN STEP", "LIVE"),
        reasons=(
            *(Reason.ATTEMPTS_EXHAUSTED, Reason.DEFERRED_TOO_LONG, Reason.MODEL_REJECTED),
            *(Reason.EMPTY_ANSWER, Reason.ANSWER_CUT_OFF, Reason.ANSWER_REFUSED),
            *(Reason.ANSWER_FILTERED, Reason.ANSWER_REJECTED, Reason.STEPS_USED_UP),
            Reason.GUARDRAIL_BLOCKED,
        ),
    ),
    Event(
        "cancellation",
        LIVE,
        "canceled",
        "as at the end, without a message",
        "completion.RunCompletion.cancel, completion.RunCompletion.end, slots.canceled_queued_run",
        frozenset({"ended_at", "error"}),
        together=(*POSTED, "RUN", "LIVE"),
        reasons=(
            *(Reason.AGENT_LEFT, Reason.CHAT_DISCARDED, Reason.DESK, Reason.OPTED_OUT),
            *(Reason.STOPPED_BY_AGENT, Reason.STOPPED_BY_ASKER, Reason.STOPPED_BY_OPERATOR),
            *(Reason.READERS_CHANGED, Reason.DISCLOSURE_REFUSED, Reason.PERSON_ERASED),
            *(Reason.TOKEN_BUDGET, Reason.RATE_LIMITED),
        ),
    ),
)


def event_of(before: RunStatus | None, after: str | None, attributes: Collection[str]) -> Event:
    """Return the event of a write to a run's item.

    If several events fit, the event with the most `sets` is returned.

    Raises:
        ValueError: The write is not an event of a run's lifecycle.
    """
    fitting = [event for event in LIFECYCLE if event.fits(before, after, attributes)]
    if not fitting:
        raise ValueError(f"no event of a run: {before} to {after}, with {sorted(attributes)}")
    return max(fitting, key=lambda event: len(event.sets))
