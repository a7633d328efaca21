"""End a turn: end its run with or without an answer, or handle an error."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from skein.agent.answers import NOTICES, ending_of, ending_without_steps
from skein.agent.turn_state import Stop, Turn
from skein.agent.turn_steps import (
    ModelDown,
    ModelSteps,
    StreamedActivation,
    ended_in,
)
from skein.errors import (
    Conflict,
    Forbidden,
    GuardrailBlocked,
    LostLease,
    ModelFiltered,
    ModelRejected,
    NotActive,
    NotFound,
    Rejected,
)
from skein.interface.reading import Reading
from skein.masking import in_our_words
from skein.models.common.reason import Reason
from skein.models.outbox.jobs import RunJob
from skein.models.runs.run import RunStatus
from skein.models.runs.step import Step
from skein.ports import Clock
from skein.services.quotas.rate_limits import OverLimit, reason_of_limit
from skein.services.quotas.token_budget import ReservedTokens
from skein.services.replies.final_message import (
    Ending,
    FinalMessages,
    ends_in_one_transaction,
)
from skein.services.replies.noticed_leases import NoticedLeases
from skein.services.replies.user_notices import Apologies, FailureNotices, Notices
from skein.services.runs import policy
from skein.services.runs.activations import Activations, Recording
from skein.services.runs.completion import RunCompletion
from skein.services.runs.concurrency_limit import ConcurrencyLimit

READERS_KEEP_CHANGING = "the members of the chat keep changing"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEndings:
    """Service that ends the run of a turn."""

    activations: Activations
    final_messages: FinalMessages
    failure_notices: FailureNotices
    concurrency_limit: ConcurrencyLimit
    clock: Clock

    def post(
        self,
        activation: StreamedActivation,
        step: Step,
        reading: Reading,
        step_recording: Recording | None = None,
    ) -> None:
        """End a run with its last step, and return its permits to the concurrency limits."""
        self.end(activation, step, reading, step_recording)
        self.release(activation)

    def end(
        self,
        activation: StreamedActivation,
        step: Step,
        reading: Reading,
        step_recording: Recording | None = None,
    ) -> None:
        """End a run with its final message, with a notice, or without either.

        Args:
            activation: The state of the activation.
            step: The final step.
            reading: The data from which the prompt was built.
            step_recording: The recording of the step; None if the step is recorded already.

        Raises:
            LostLease: Another worker has taken the run over.
            ReadersChanged: Someone joined the chat that the prompt showed.
        """
        claim = step_recording.claim if step_recording is not None else activation.claim
        ending = ending_of(claim, step, reading, activation.cited)
        if step_recording is not None and not ends_in_one_transaction(claim, ending):
            activation.claim, step_recording = self.activations.record(step_recording), None
        if ending.notice is not None:
            self.failure_notices.failed(claim, ending.notice)
        stream = activation.stream
        if stream is not None:
            stream.stop(ending.message.text if ending.message is not None else None)
        try:
            self.final_messages.end(claim, ending, step_recording, snapshot=reading.snapshot)
        except LostLease:
            raise
        except Exception:
            if step_recording is not None:  # record the paid answer, so that a retry uses it
                activation.claim = self.activations.record(step_recording)
            raise
        if stream is not None and ending.message is not None:
            stream.posted()
        activation.claim = claim

    def end_early(
        self, activation: StreamedActivation, steps: Sequence[Step], reading: Reading
    ) -> None:
        """End a run after a call of `end_run`, or because it has used all its steps."""
        if activation.run.steps_taken >= policy.MAX_STEPS and not activation.ended:
            logger.warning("run used all its steps", extra={"run_id": activation.run.id})
        self.release(activation)
        claim = activation.claim
        if steps and ended_in(steps[-1]):
            ending = Ending(None, Reason.ENDED_BY_AGENT)
        else:
            ending = ending_without_steps(claim, reading)
        if ending.notice is not None:
            self.failure_notices.failed(claim, ending.notice)
        self.final_messages.end(claim, ending, None)

    def release(self, activation: StreamedActivation) -> None:
        """Return the run's permits to the concurrency limits, if it has any."""
        if activation.permit:
            self.concurrency_limit.give_back(activation.run, activation.claim.found)
            activation.permit = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettlement:
    """Service that defers, retries, hands over or ends a run that cannot go on in this turn."""

    leases: NoticedLeases
    activations: Activations
    completion: RunCompletion
    endings: TurnEndings
    apologies: Apologies
    failure_notices: FailureNotices
    notices: Notices
    model_steps: ModelSteps

    def hand_over(self, turn: Turn) -> Stop:
        """End this turn, and let another invocation continue the run."""
        self.leases.continue_later(turn.activation.claim)
        return Stop(Reason.HANDED_OVER)

    def rebuild(self, turn: Turn) -> None:
        """Drop the activation, because the chat's readers or the sharing rules have changed.

        A run that has dropped too many activations is canceled.
        """
        activation = turn.activation
        if activation.stream is not None:
            activation.stream.close()
        activation.claim = self.activations.rebuild(activation.claim, activation.sent)
        if activation.run.rebuilds > policy.MAX_REBUILDS:
            self.endings.release(activation)
            reason, error = Reason.READERS_CHANGED, READERS_KEEP_CHANGING
            self.completion.end(activation.claim, "canceled", reason=reason, error=error)
            turn.stopped = Stop(reason)
            return
        activation.begin_again()
        turn.opened, turn.prefetched = None, {}

    def taken_over(self, job: RunJob, turn: Turn | None) -> Stop:
        """Leave the run to the worker that has taken it over.

        If the run has ended, return its permits to the concurrency limits.
        """
        extra = {"run_id": job.run_id, "reason": Reason.TAKEN_OVER}
        logger.info("run taken over by another worker", extra=extra)
        activation = turn.activation if turn is not None else None
        if activation is not None and activation.permit and self.leases.is_over(activation.claim):
            self.endings.release(activation)
        return Stop(Reason.TAKEN_OVER)

    def settle(self, turn: Turn, error: Exception) -> Stop:
        """Defer, retry or end a run whose activation raised an error.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        claim = turn.activation.claim
        self.endings.release(turn.activation)
        match error:
            case NotActive():
                # The next claim holds the run back or cancels it.
                return self.hand_over(turn)
            case ReservedTokens():
                reason = Reason.CONCURRENCY_LIMIT
                self.leases.defer(claim, reason, str(error), longest_seconds=policy.BUSY_SECONDS)
            case ModelDown():
                reason = error.reason
                extra = {"run_id": claim.run.id, "why": str(error), "reason": reason}
                logger.warning("run deferred", extra=extra)
                self.apologies.late(claim)
                self.leases.defer(claim, reason, str(error))
            case OverLimit():
                self.notices.out_of_tokens(claim, error)
                reason, why = reason_of_limit(error.what), f"over a limit: {error}"
                self.completion.end(claim, "canceled", reason=reason, error=why)
            case Rejected() | ModelRejected():
                return self._end(turn, error)
            case _:
                # A bug must not hold the agent's slot until the lease expires: log it, then retry.
                reason = Reason.ATTEMPT_FAILED
                extra = {"run_id": claim.run.id, "reason": reason}
                logger.error("run attempt failed", extra=extra, exc_info=error)
                self.leases.retry_later(claim, in_our_words(error))
        return Stop(reason)

    def _end(self, turn: Turn, error: Rejected | ModelRejected) -> Stop:
        """End a run that the model's provider, a guardrail or a check has refused."""
        claim, notice = turn.activation.claim, "notice_no_answer"
        status: RunStatus = "failed"
        words: str | None = None
        match error:
            case GuardrailBlocked():
                reason, words = Reason.GUARDRAIL_BLOCKED, error.text
            case ModelFiltered():
                reason, notice = Reason.ANSWER_FILTERED, NOTICES["filtered"]
            case ModelRejected():
                reason = Reason.MODEL_REJECTED
            case _:
                reason = Reason(error.reason or Reason.ANSWER_REJECTED)
                if isinstance(error, NotFound | Conflict | Forbidden):
                    status = "canceled"
        if status == "failed":
            self.failure_notices.failed(claim, notice, words=words)
        self.completion.end(claim, status, reason=reason, error=str(error))
        if isinstance(error, ModelFiltered):
            self.model_steps.count_filtered()
        return Stop(reason)
