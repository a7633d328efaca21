"""The turn of an agent: claim a run, build a prompt, carry out steps.

A step is one answer of the model and the results of its tools. The answer is recorded before any
of its tools is called. Each tool call has its own effect id, so a retry is harmless. If a worker
dies, the next worker uses the recorded answer and repeats no effect.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from skein.agent.answers import (
    NOTICES,
    ending_of,
    ending_without_steps,
    leaves_no_question,
    review,
)
from skein.agent.executor import ToolExecutor
from skein.agent.reading.held_content import held_by, rules_hold
from skein.agent.reading.loader import ContextLoader
from skein.agent.reading.reader import prefetch_keys
from skein.agent.sections.builder import PromptBuilder
from skein.agent.tools import offered
from skein.agent.turn_steps import (
    NO_PROMPT,
    FixedAnswer,
    ModelDown,
    ModelSteps,
    StreamedActivation,
    ended_in,
    fixed_answer,
    fixed_step,
    open_stream,
    reaches_nobody,
    recorded_prompt,
)
from skein.correlation import correlated
from skein.errors import (
    Conflict,
    Forbidden,
    LostLease,
    ModelFiltered,
    ModelRejected,
    NotActive,
    NotFound,
    ReadersChanged,
    Rejected,
)
from skein.interface.reading import Reading
from skein.live.answer_streams import AnswerStreams
from skein.masking import in_our_words
from skein.models.chats.chat import Chat
from skein.models.common.audience import may_show
from skein.models.common.reason import Reason
from skein.models.config.sharing import RULES_CHANGED
from skein.models.outbox.jobs import RunJob
from skein.models.quotas.usage import Payer
from skein.models.runs.run import Run, RunStatus
from skein.models.runs.step import PromptRecord, Step
from skein.own_tools.asking import Approvals
from skein.own_tools.items import longest_call
from skein.ports import Clock, Table
from skein.services.chat_state.snapshot import with_opt_outs_now
from skein.services.quotas.rate_limits import OverLimit, reason_of_limit
from skein.services.quotas.token_budget import (
    ReservedTokens,
    TokenBudget,
    TokenBudgets,
    payer_of,
)
from skein.services.quotas.usage import UsageCounters
from skein.services.replies.final_message import (
    Ending,
    FinalMessages,
    ends_in_one_transaction,
)
from skein.services.replies.noticed_leases import NoticedLeases
from skein.services.replies.sharing_notices import SharingNotices
from skein.services.replies.user_notices import Apologies, FailureNotices, Notices
from skein.services.runs import policy
from skein.services.runs.activations import Activations, Recording, recording
from skein.services.runs.claim import PrefetchedItems, membership_elsewhere, with_results
from skein.services.runs.completion import RunCompletion
from skein.services.runs.concurrency_limit import ConcurrencyLimit
from skein.services.runs.disclosure import check_readers
from skein.settings import Settings

READERS_KEEP_CHANGING = "the members of the chat keep changing"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Worker of runs: it claims a run and carries out its activations."""

    table: Table
    leases: NoticedLeases
    activations: Activations
    completion: RunCompletion
    concurrency_limit: ConcurrencyLimit
    context_loader: ContextLoader
    prompt_builder: PromptBuilder
    tool_executor: ToolExecutor
    model_steps: ModelSteps
    final_messages: FinalMessages
    apologies: Apologies
    usage: UsageCounters
    token_budgets: TokenBudgets
    approvals: Approvals
    failure_notices: FailureNotices
    notices: Notices
    sharing_notices: SharingNotices
    streams: AnswerStreams
    clock: Clock
    settings: Settings

    @correlated()
    def take(self, job: RunJob, *, deadline: datetime) -> None:
        """Claim a run and carry it out as far as this invocation allows.

        Args:
            job: The job that names the run.
            deadline: When this invocation will be stopped. The lease ends 2 seconds later.

        Raises:
            Transient: The table is out of reach. The queue, and later the tick, retry the run.
        """
        activation: StreamedActivation | None = None
        try:
            claim = self.leases.claim(
                job, lease_until=policy.lease_end(deadline), also_read=prefetch_keys(job)
            )
            if claim is None:
                return
            activation = StreamedActivation(claim, permit=bool(claim.permits))
            try:
                self._carry_on_for_readers(activation, deadline, claim.found)
            except LostLease:
                raise
            except Exception as error:
                self._settle(activation, error)
        except LostLease:
            logger.info(
                "run taken over by another worker",
                extra={"run_id": job.run_id, "reason": Reason.TAKEN_OVER},
            )
            if (
                activation is not None
                and activation.permit
                and self.leases.is_over(activation.claim)
            ):
                self._release(activation)
        finally:
            if activation is not None and activation.stream is not None:
                activation.stream.close()
                self.streams.finish()

    def _settle(self, activation: StreamedActivation, error: Exception) -> None:
        """Defer, retry or end a run whose activation raised an error."""
        claim, run_id = activation.claim, activation.run.id
        self._release(activation)
        if isinstance(error, NotActive):
            self.leases.continue_later(claim)  # the next claim holds the run back or cancels it
        elif isinstance(error, ReservedTokens):
            reason = Reason.CONCURRENCY_LIMIT
            self.leases.defer(claim, reason, str(error), longest_seconds=policy.BUSY_SECONDS)
        elif isinstance(error, ModelDown):
            extra = {"run_id": run_id, "why": str(error), "reason": error.reason}
            logger.warning("run deferred", extra=extra)
            self.apologies.late(claim)
            self.leases.defer(claim, error.reason, str(error))
        elif isinstance(error, OverLimit):
            self.notices.out_of_tokens(claim, error)
            reason = reason_of_limit(error.what)
            self.completion.end(claim, "canceled", reason=reason, error=f"over a limit: {error}")
        elif isinstance(error, ModelFiltered):
            reason = Reason.ANSWER_FILTERED
            self.failure_notices.failed(claim, NOTICES["filtered"])
            self.completion.end(claim, "failed", reason=reason, error=str(error))
            self.model_steps.count_filtered()
        elif isinstance(error, ModelRejected):
            reason = Reason.MODEL_REJECTED
            self.failure_notices.failed(claim)
            self.completion.end(claim, "failed", reason=reason, error=str(error))
        elif isinstance(error, Rejected):
            reason = Reason(error.reason or Reason.ANSWER_REJECTED)
            gone = isinstance(error, NotFound | Conflict | Forbidden)
            status: RunStatus = "canceled" if gone else "failed"
            if status == "failed":
                self.failure_notices.failed(claim)
            self.completion.end(claim, status, reason=reason, error=str(error))
        else:
            # A bug must not hold the agent's slot until the lease expires: log it, then retry.
            extra = {"run_id": run_id, "reason": Reason.ATTEMPT_FAILED}
            logger.error("run attempt failed", extra=extra, exc_info=error)
            self.leases.retry_later(claim, in_our_words(error))

    def _carry_on_for_readers(
        self, activation: StreamedActivation, deadline: datetime, prefetched: PrefetchedItems
    ) -> None:
        """Carry out a run, and rebuild its activation when the chat's readers change."""
        while True:
            try:
                self._carry_on(activation, deadline, prefetched)
            except ReadersChanged:
                if activation.stream is not None:
                    activation.stream.close()
                activation.claim = self.activations.rebuild(activation.claim, activation.sent)
                if activation.run.rebuilds > policy.MAX_REBUILDS:
                    self.completion.end(
                        activation.claim,
                        "canceled",
                        reason=Reason.READERS_CHANGED,
                        error=READERS_KEEP_CHANGING,
                    )
                    return
                activation.begin_again()
                prefetched = {}
            else:
                return

    def _carry_on(
        self, activation: StreamedActivation, deadline: datetime, prefetched: PrefetchedItems
    ) -> None:
        number = activation.run.activation
        steps = list(self.activations.steps(activation.claim))
        reading = self._read(activation, steps, prefetched)
        activation.insiders = reading.insiders
        self.sharing_notices.tell(activation.claim, reading.sharing)
        fixed = fixed_answer(activation.run, reading)
        if fixed is not None:
            self._answer_without_model(activation, steps, reading, fixed)
            return
        open_stream(self.streams, activation, reading)
        tools = offered(reading)
        config = reading.config
        budget = self.token_budgets.budget(
            activation.run,
            {**config.allowances, **activation.claim.permits},
            config.effective,
            agent_limit=reading.agent.max_concurrent_runs or self.settings.max_concurrent_runs,
        )
        prompt = recorded_prompt(steps) or self.prompt_builder.build(
            activation.run, reading, [tool.spec for tool in tools]
        )
        if not steps:
            steps += self._agreed(activation, reading, prompt)
        activation.ended = bool(steps) and ended_in(steps[-1])
        while activation.run.activation == number:
            if not self._finish_last(activation, steps, reading, deadline):
                return
            if not self._asks_again(activation, number):
                break
            seconds = self._seconds_left(deadline)
            if seconds < policy.MIN_MODEL_SECONDS:
                self.leases.continue_later(activation.claim)
                return
            self._check_opt_out(activation.run, reading, steps)
            budget.check()
            answer = self.model_steps.ask(activation, reading, prompt, steps, tools, seconds)
            step, marks = review(activation.claim, answer, steps, reading, tools)
            step_recording = self.model_steps.recording_of(
                activation, step, reading, prompt if not steps else None, marks
            )
            self._record_and_charge(activation, step, reading, step_recording, budget)
            if step.is_final:
                return
            steps.append(step)
        if activation.over:
            self._release(activation)
            return
        if activation.ended:
            self._end_early(activation, steps, reading)
            return
        # A question found an existing reply, so a new activation of this run answers it.
        self._carry_on(activation, deadline, {})

    def _agreed(
        self,
        activation: StreamedActivation,
        reading: Reading,
        prompt: PromptRecord,
    ) -> Sequence[Step]:
        """Record the calls to which people have agreed as the first step, if there are any."""
        step = self.approvals.agreed_step(activation.run, reading)
        if step is None:
            return ()
        step_recording = self.model_steps.recording_of(activation, step, reading, prompt)
        activation.claim = self.activations.record(step_recording)
        return (step,)

    def _finish_last(
        self,
        activation: StreamedActivation,
        steps: list[Step],
        reading: Reading,
        deadline: datetime,
    ) -> bool:
        """Carry out the newest step, if that is left to do, and end the run after its last step.

        Returns:
            Whether this invocation continues: the run has not ended, and time for calls is left.
        """
        if not steps:
            return True
        if steps[-1].results is None and not steps[-1].is_final:
            if self._seconds_left(deadline) < longest_call(steps[-1], reading):
                self.leases.continue_later(activation.claim)
                return False
            activation.earlier = tuple(steps[:-1])
            steps[-1] = self._act(activation, steps[-1], reading, policy.model_deadline(deadline))
        if steps[-1].is_last:
            self._end_run(activation, steps[-1], reading)
            self._release(activation)
            return False
        return True

    def _record_and_charge(
        self,
        activation: StreamedActivation,
        step: Step,
        reading: Reading,
        step_recording: Recording,
        budget: TokenBudget,
    ) -> None:
        """Record an answer, then charge its tokens.

        The final answer and the completion of its run are written together. Tokens are charged
        last, so that the charge does not delay the answer. The charge of the final answer gives
        the run's permits back.
        """
        ended = False
        try:
            if not step.is_final:
                self._record_before_calls(activation, step_recording)
            else:
                self._end_run(activation, step, reading, step_recording)
                ended = True
        finally:
            # The step can be recorded even if a later write failed.
            if activation.run.steps_taken == step.n:
                self.model_steps.count_fault(step)
                run = activation.run
                self.usage.add(
                    run.tenant,
                    step.usage,
                    spread_by=run.id,
                    model=step.model,
                    payer=Payer(run.agent_id, payer_of(run)),
                    budget=budget,
                    settles=ended,
                )
                activation.permit = activation.permit and not ended

    def _record_before_calls(
        self, activation: StreamedActivation, step_recording: Recording
    ) -> None:
        """Record an answer whose calls come next; also one whose calls may not be made any more.

        Raises:
            ReadersChanged: What the activation was told may not be told any more.
        """
        try:
            activation.claim = self.activations.record(step_recording, acts=True)
        except ReadersChanged:
            activation.claim = self.activations.record(step_recording)
            raise

    @staticmethod
    def _asks_again(activation: StreamedActivation, number: int) -> bool:
        """Return whether this activation asks the model again."""
        if activation.over or activation.ended or activation.run.activation != number:
            return False
        if activation.run.steps_taken >= policy.MAX_STEPS:
            logger.warning("run used all its steps", extra={"run_id": activation.run.id})
            activation.ended = True
        return not activation.ended

    def _answer_without_model(
        self,
        activation: StreamedActivation,
        steps: Sequence[Step],
        reading: Reading,
        fixed: FixedAnswer,
    ) -> None:
        """Answer with a fixed answer, and end the run."""
        if steps:
            self._end_run(activation, steps[-1], reading)
            self._release(activation)
            return
        step = fixed_step(activation.run, fixed.prompt, self.clock.now())
        held = held_by(reading, activation.run)
        step_recording = recording(
            activation.claim, step, shown=fixed.shown, held=held, marks=NO_PROMPT.marks
        )
        self._end_run(activation, step, reading, step_recording)
        self._release(activation)

    def _end_run(
        self,
        activation: StreamedActivation,
        step: Step,
        reading: Reading,
        step_recording: Recording | None = None,
    ) -> None:
        """End a run with its final message, with a notice or without either.

        Args:
            step: The final step.
            step_recording: The recording of the step; None if the step is recorded already.
        """
        claim = step_recording.claim if step_recording is not None else activation.claim
        ending = ending_of(claim, step, reading)
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

    def _end_early(
        self, activation: StreamedActivation, steps: Sequence[Step], reading: Reading
    ) -> None:
        """End a run by the tool `end_run`, or because it has taken all its steps."""
        self._release(activation)
        claim = activation.claim
        if steps and ended_in(steps[-1]):
            ending = Ending(None, Reason.ENDED_BY_AGENT)
        else:
            ending = ending_without_steps(claim, reading)
        if ending.notice is not None:
            self.failure_notices.failed(claim, ending.notice)
        self.final_messages.end(claim, ending, None)

    def _release(self, activation: StreamedActivation) -> None:
        """Give back the permits of the concurrency limits, if the activation has any."""
        if activation.permit:
            self.concurrency_limit.give_back(activation.run, activation.claim.found)
            activation.permit = False

    def _act(
        self, activation: StreamedActivation, step: Step, reading: Reading, until: datetime
    ) -> Step:
        """Carry out the tool calls of a step, if there are any, and record their results."""
        if not step.tool_calls:
            return step
        activation.sent.clear()
        activation.disclosed.clear()
        results = self.tool_executor.carry_out(activation, step, reading, until=until)
        if activation.over or activation.run.activation != step.activation:
            return step
        claim = with_results(activation.claim, [each.name for each in results], activation.sent)
        done = step.model_copy(update={"results": results, "begun": ()})
        if not (activation.ended or activation.results_wanted):
            ends = leaves_no_question(claim, done, reading)
            done = done.model_copy(update={"ends_run": ends})
        self.activations.keep_results(claim, done, also=activation.disclosed)
        activation.claim = claim
        return done

    def _read(
        self, activation: StreamedActivation, steps: Sequence[Step], prefetched: PrefetchedItems
    ) -> Reading:
        """Read the data for the active chat of an activation.

        A worker that takes over an activation uses the chat, the readers and the audience of the
        recorded prompt.

        Raises:
            ReadersChanged: The chat's readers changed, and the activation has more to do.
            Rejected: The run of a plan or a service cannot work in its chat any more.
            Forbidden: The person of the chat has opted out of SMS, so that nobody reads an answer.
        """
        run, chat, member = activation.run, activation.claim.chat, activation.claim.member
        recorded = run.shown.chat_id if run.shown else None
        shown_chat_id = recorded if steps else run.active_chat_id
        if shown_chat_id is None:
            chat, member = None, None
        elif chat is None or chat.id != shown_chat_id:
            chat, member = membership_elsewhere(self.table, activation.claim, shown_chat_id)
        if not steps:
            _check_own_chat(run, shown_chat_id, chat)
            reading = self.context_loader.fresh(run, chat, member, prefetched)
            if reaches_nobody(run, reading):
                raise Forbidden(Reason.OPTED_OUT.meaning, reason=Reason.OPTED_OUT)
            return reading
        if not steps[-1].is_last and not ended_in(steps[-1]):
            self._check_readers(run, chat)
        reading = self.context_loader.again(run, chat, member, prefetched)
        if run.held is None:
            return reading
        if not steps[-1].is_last and not rules_hold(run, reading, self.clock.now()):
            raise ReadersChanged(RULES_CHANGED)
        return replace(reading, destination=run.held.readers, audience=run.held.audience)

    def _check_opt_out(self, run: Run, reading: Reading, steps: Sequence[Step]) -> None:
        """Check before a later step that the person has not opted out since the reading.

        This costs one read per later step, only in a direct chat whose person is on SMS.

        Args:
            steps: The earlier steps. Without any, the reading is new and checked already.

        Raises:
            Forbidden: The person has opted out of SMS, so that nobody would read an answer.
        """
        if not steps or reading.snapshot is None:
            return
        snapshot = with_opt_outs_now(self.table, reading.snapshot)
        if reaches_nobody(run, replace(reading, snapshot=snapshot)):
            raise Forbidden(Reason.OPTED_OUT.meaning, reason=Reason.OPTED_OUT)

    @staticmethod
    def _check_readers(run: Run, chat: Chat | None) -> None:
        """Check that the recorded prompt was built for the current readers of the chat.

        Raises:
            ReadersChanged: The readers changed, or no held content is recorded.
        """
        if run.held is None:
            raise ReadersChanged(f"{run.id}: the activation has no record of its held content")
        if chat is not None:
            check_readers(run.held, chat)

    def _seconds_left(self, deadline: datetime) -> float:
        model_deadline = policy.model_deadline(deadline)
        return (model_deadline - self.clock.now()).total_seconds()


def _check_own_chat(run: Run, shown_chat_id: str | None, chat: Chat | None) -> None:
    """Check that the run of a plan or a service can still work in its chat.

    Args:
        shown_chat_id: The id of the active chat.
        chat: The active chat; None if the agent is not a member any more.

    Raises:
        NotFound: The agent has left the run's chat.
        Conflict: The chat is discarded, or a person of the team holds it.
        Forbidden: Someone joined who may not be shown the run's trigger.
    """
    if shown_chat_id is None or shown_chat_id != run.for_chat_id:
        return
    if chat is None:
        raise NotFound("the agent has left the chat", reason=Reason.AGENT_LEFT)
    if chat.discarded_at is not None:
        raise Conflict("the chat is discarded", reason=Reason.CHAT_DISCARDED)
    if chat.held:
        raise Conflict("a person of the team holds the chat", reason=Reason.DESK)
    if not may_show(run.audience, chat.readers):
        raise Forbidden(
            "someone joined the chat who may not be shown the trigger",
            reason=Reason.DISCLOSURE_REFUSED,
        )
