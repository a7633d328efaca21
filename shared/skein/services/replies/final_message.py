"""Post a run's final message and end the run, in one transaction where possible."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from skein.errors import ExtraWriteFailed, LostLease, ReadersChanged
from skein.models.chats.chat import Message
from skein.models.common.reason import Reason
from skein.models.common.storage import Write
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import FinalMessage, Run
from skein.services.chat_state.snapshot import ChatSnapshot
from skein.services.chats.post_message import Chats, NewMessage
from skein.services.runs.activations import Recording
from skein.services.runs.claim import Claim
from skein.services.runs.completion import Outcome, RunCompletion
from skein.services.runs.reasons import reason_of_done
from skein.services.visibility.disclosure import check_post


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ends with the model's last answer.

    Attributes:
        message: The final message, if any.
        reason: Why the run gives no answer; None if `message` is the answer.
        failed: Whether the run fails because the model gave no usable answer.
        notice: The prompt file of the notice that is posted before a failed run ends, if any.
    """

    message: NewMessage | None
    reason: Reason | None = None
    failed: bool = False
    notice: str | None = None

    def outcome(self, run: Run) -> Outcome:
        """Return the outcome of the run; it has no reason if the run has answered."""
        if self.failed and self.reason is not None:
            return Outcome("failed", self.reason, self.reason.meaning)
        silence = self.reason
        return Outcome("done", reason_of_done(run, silence) if silence is not None else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalMessages:
    """The service that ends runs after the model's last answer, with or without a message."""

    chats: Chats
    completion: RunCompletion

    def end(
        self,
        claim: Claim,
        ending: Ending,
        step_recording: Recording | None,
        *,
        snapshot: ChatSnapshot | None = None,
    ) -> None:
        """Post a run's final message, if any, and end the run.

        In the run's own chat, one transaction posts the message and ends the run; it can also
        record the model's last answer. If the message is for another chat, or if other agents
        follow in the chain, the message is posted before the run ends.

        Args:
            claim: The run's claim. If a `step_recording` is given, its claim.
            ending: How the run ends.
            step_recording: The recording of the last step, if the step was not recorded yet and
                `ends_in_one_transaction` is true.
            snapshot: The snapshot of the message's chat, if the caller has read one.

        Raises:
            LostLease: Another worker has taken the run over.
            ReadersChanged: Someone has joined the chat that the prompt showed; nothing was written.
            Rejected: The chat does not accept the message; nothing was written.
            Contention: Too many other writers changed the chat at once; nothing was written.
        """
        message, outcome = ending.message, ending.outcome(claim.run)
        if message is None:
            self._end(claim, outcome, step_recording)
            return
        jobs: list[RunJob] = []
        together = _one_transaction(claim, message)

        tries = count()

        def extra_writes(snapshot: ChatSnapshot) -> Sequence[Write]:
            check_post(claim.run, snapshot.chat)
            if not together:
                return (claim.guard,)
            seq = snapshot.chat.last_seq + 1
            named = _with_final_message(claim, message.chat_id, seq)
            completed = self.completion.ended_in(
                snapshot,
                named,
                outcome,
                step_recording,
                again=next(tries) > 0,
            )
            jobs[:] = completed.jobs
            return completed.writes

        try:
            posted = self.chats.post_message(message, extra_writes=extra_writes, known=snapshot)
        except ExtraWriteFailed as error:
            raise LostLease(claim.run.id) from error
        except ReadersChanged:
            earlier = self.chats.earlier(message)
            if earlier is None:
                raise
            self._end_posted(claim, earlier, step_recording)
            return
        if together and posted.created:
            self.completion.over(claim.run, outcome, jobs)
        else:  # the message was posted, here or by an earlier attempt; the run has not ended yet
            self._end_posted(claim, posted.message, step_recording)

    def _end(self, claim: Claim, outcome: Outcome, step_recording: Recording | None) -> None:
        """End a run without a final message."""
        status, reason, error = outcome
        self.completion.end(
            claim, status, reason=reason, error=error, step_recording=step_recording
        )

    def _end_posted(self, claim: Claim, message: Message, step_recording: Recording | None) -> None:
        """End a run whose final message was already posted."""
        elsewhere = claim.run.chat_id is not None and message.chat_id != claim.run.chat_id
        reason = reason_of_done(claim.run, Reason.ANSWERED_ELSEWHERE) if elsewhere else None
        named = _with_final_message(claim, message.chat_id, message.seq)
        self._end(named, Outcome("done", reason), step_recording)


def _with_final_message(claim: Claim, chat_id: str, seq: int) -> Claim:
    return claim.with_run(final_message=FinalMessage(chat_id=chat_id, seq=seq))


def ends_in_one_transaction(claim: Claim, ending: Ending) -> bool:
    """Return whether the transaction that ends a run can also record the run's last answer.

    The answer must be recorded before anything else that the end of the run writes. So if the end
    takes several transactions, the answer must be recorded before them, in a transaction of its
    own.

    Args:
        claim: The run's claim, with the answer.
        ending: How the run ends.
    """
    shown = claim.run.shown
    at_home = shown is None or shown.chat_id == claim.run.chat_id
    if ending.notice is not None:
        return False
    return at_home and (ending.message is None or _one_transaction(claim, ending.message))


def _one_transaction(claim: Claim, message: NewMessage) -> bool:
    """Return whether the transaction that ends the run can also post its message.

    The message must be in the run's own chat, and must not start a run of another agent. The
    reason: both the message and the chain could trigger the same agent, whose membership can be
    written only once in a transaction.
    """
    return message.chat_id == claim.run.chat_id and not claim.run.then
