"""The current reason why a run gives no answer.

A run records a reason when it is deferred, dropped or ended. All other reasons are derived from its
status, its lease and the slots of its agent, so they need no write.
"""

from datetime import datetime

from skein.models.chats.membership import Membership
from skein.models.common.reason import Reason
from skein.models.runs.run import Run
from skein.services.runs.debounce import delay_of
from skein.services.runs.slots import is_its_turn


def reason_now(run: Run, member: Membership | None, now: datetime) -> Reason | None:
    """Return why a run gives no answer, or not yet; None if it has answered.

    Args:
        member: The agent's membership in the run's chat; None if it is unknown or the agent has
            left.
    """
    if run.status == "done":
        return run.reason
    if run.ended:
        return run.reason or Reason.NOT_RECORDED
    if run.status == "waiting":
        return Reason.WAITING_FOR_REPLY
    if run.status == "running":
        over = run.lease_until is None or run.lease_until <= now
        return run.reason or (Reason.WORKER_LOST if over else Reason.WORKING)
    return _reason_of_queued(run, member, now)


def _reason_of_queued(run: Run, member: Membership | None, now: datetime) -> Reason:
    if run.reason == Reason.PAUSED:
        return Reason.PAUSED
    if member is not None and not is_its_turn(run, member):
        return Reason.BEHIND_OTHER_RUN
    delay = delay_of(member, now)
    if delay.seconds:
        return delay.reason
    waits = run.reason == Reason.CONCURRENCY_LIMIT
    return Reason.CONCURRENCY_LIMIT if waits else Reason.QUEUED


def reason_of_done(run: Run, silence: Reason) -> Reason | None:
    """Return the reason that is stored when a run is done; None if it has answered.

    Args:
        run: The run, with the messages that it has sent.
        silence: Why the run ends without a final message.
    """
    if has_answered(run) or (run.chat_id is None and run.sent):
        return None
    elsewhere = any(sent.chat_id != run.chat_id for sent in run.sent)
    return Reason.ANSWERED_ELSEWHERE if elsewhere else silence


def has_answered(run: Run) -> bool:
    """Return whether a run has answered in its own chat.

    A run without a chat has answered if it has posted in any chat.
    """
    if run.own_chat_id is None:
        return bool(run.sent)
    return has_posted(run, run.own_chat_id, after=_asked_at(run))


def has_posted(run: Run, chat_id: str, *, after: int) -> bool:
    """Return whether a run has posted in a chat after the message with the seq `after`."""
    posted = (*run.sent, run.final_message)
    return any(each is not None and each.chat_id == chat_id and each.seq > after for each in posted)


def _asked_at(run: Run) -> int:
    """Return the seq of the newest message in the run's own chat that the run must answer."""
    resumed = run.resumed
    if resumed is not None and resumed.chat_id == run.own_chat_id and resumed.seq is not None:
        return resumed.seq
    return max(run.trigger.seqs, default=0)
