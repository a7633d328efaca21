"""One activation of a run: claim it, show the agent its context, and go on step by step.

A step is one answer of the model, recorded before anything that it asks for is carried out, and
then its tools, each effect under a name of its own. So a worker may die anywhere: the next one
uses the recorded answer, and what was done is not done again (DESIGN section 5, invariant 6).
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from skein.agent.executor import Actor
from skein.agent.prompt.builder import PromptBuilder
from skein.agent.reading.held_content import held_by
from skein.agent.reading.loader import ContextLoader
from skein.agent.reading.prefetch import prefetch_keys
from skein.agent.reading.reader import Reading
from skein.agent.tools import enabled
from skein.agent.tools.context import Work
from skein.agent.turn_steps import (
    NO_PROMPT,
    Answers,
    ModelDown,
    asked_anew,
    ended_in,
    final_messages,
    fixed_step,
    recorded_prompt,
)
from skein.correlation import correlated
from skein.errors import (
    Conflict,
    Forbidden,
    LostLease,
    ModelRejected,
    NotFound,
    ReadersChanged,
    Rejected,
    Transient,
)
from skein.masking import in_our_words
from skein.models.chat import Chat
from skein.models.jobs import RunJob
from skein.models.run import MAX_STEPS, Run, Shown
from skein.models.step import Step
from skein.ports import Clock, Table
from skein.services.quotas.rate_limits import OverLimit
from skein.services.quotas.token_budget import TokenBudget, TokenBudgets
from skein.services.quotas.usage import UsageCounters
from skein.services.replies.final_message import FinalMessages, all_one
from skein.services.replies.user_notices import Apologies, Notices
from skein.services.runs.claim import Known, place_elsewhere
from skein.services.runs.completion import RunCompletion
from skein.services.runs.concurrency_limit import ConcurrencyLimit
from skein.services.runs.disclosure import check_readers
from skein.services.runs.lifecycle import Runs
from skein.services.runs.step_record import Recording, recording
from skein.settings import Settings

LEASE_MARGIN = timedelta(seconds=2)  # the lease outlives the invocation, never the other way round
WRITING_SECONDS = 10  # kept back from the model's time for recording and posting its answer
MIN_MODEL_SECONDS = 20  # with less than this left, a fresh invocation goes on
MAX_REBUILDS = 3  # of a run's activations, when people keep joining its chat
READERS_KEEP_CHANGING = "the people who read the chat keep changing"
BUSY_SECONDS = 30  # the longest pause before a run asks again whether it may work

logger = logging.getLogger(__name__)


class Busy(Transient):
    """The agent has as many runs at work as it may; this one waits for its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Carries out runs."""

    table: Table
    runs: Runs
    completion: RunCompletion
    permits: ConcurrencyLimit
    contexts: ContextLoader
    context: PromptBuilder
    actor: Actor
    answers: Answers
    final_messages: FinalMessages
    apologies: Apologies
    usage: UsageCounters
    spending: TokenBudgets
    notices: Notices
    clock: Clock
    settings: Settings

    @correlated()
    def take(self, job: RunJob, *, deadline: datetime) -> None:
        """Carry a run on as far as it goes in this invocation.

        Args:
            job: Which run.
            deadline: When this invocation will be stopped; the lease follows it.

        Raises:
            Transient: The table is out of reach; the queue, and later the tick, bring it back.
        """
        work: Work | None = None
        try:
            claim = self.runs.claim(
                job, lease_until=deadline + LEASE_MARGIN, beside=prefetch_keys(job)
            )
            if claim is None:
                return
            work = Work(claim)
            try:
                self._carry_on_for_readers(work, deadline, claim.found)
            except LostLease:
                raise
            except Exception as error:
                self._settle(work, error)
        except LostLease:
            logger.info("the run was taken over", extra={"run_id": job.run_id})
            if work is not None and work.permit and self.runs.is_over(work.claim):
                self._release(work)

    def _settle(self, work: Work, error: Exception) -> None:
        """Decide what becomes of a run whose activation did not come to its end."""
        claim, run_id = work.claim, work.run.id
        self._release(work)
        if isinstance(error, Busy):
            self.runs.defer(claim, str(error), longest_seconds=BUSY_SECONDS)
        elif isinstance(error, ModelDown):
            logger.warning("a run is put off", extra={"run_id": run_id, "why": str(error)})
            self.apologies.late(claim)
            self.runs.defer(claim, str(error))
        elif isinstance(error, OverLimit):
            self.notices.out_of_tokens(claim, error.refusal)
            self.completion.end(claim, "canceled", error=f"over a limit: {error}")
        elif isinstance(error, NotFound | Conflict | Forbidden):
            self.completion.end(claim, "canceled", error=str(error))
        elif isinstance(error, Rejected | ModelRejected):
            self.completion.end(claim, "failed", error=str(error))
        else:
            # A bug must not hold the agent's slot until the lease runs out: note it, try again.
            logger.error("an attempt failed", extra={"run_id": run_id}, exc_info=error)
            self.runs.retry_later(claim, in_our_words(error))

    def _carry_on_for_readers(self, work: Work, deadline: datetime, known: Known) -> None:
        """Carry a run on; if someone joins its chat meanwhile, build its activation again."""
        while True:
            try:
                self._carry_on(work, deadline, known)
            except ReadersChanged:
                self._release(work)
                work.claim = self.runs.rebuild(work.claim, work.sent)
                if work.run.rebuilds > MAX_REBUILDS:
                    self.completion.end(work.claim, "canceled", error=READERS_KEEP_CHANGING)
                    return
                work.begin_again()
                known = {}
            else:
                return

    def _carry_on(self, work: Work, deadline: datetime, known: Known) -> None:
        activation = work.run.activation
        steps = list(self.runs.steps(work.claim))
        reading = self._read(work, steps, known)
        anew = asked_anew(work.run, reading)
        if anew is not None:
            self._answer_anew(work, steps, reading, anew)
            return
        tools = enabled(reading.agent.enabled_tools)
        account = self.spending.account(work.run, reading.allowances, reading.tenant)
        self._permit(work, reading, until=deadline + LEASE_MARGIN)
        prompt = recorded_prompt(steps) or self.context.build(
            work.run, reading, [tool.spec for tool in tools]
        )
        work.ended = bool(steps) and ended_in(steps[-1])
        while work.run.activation == activation:
            if steps and steps[-1].results is None:
                if not steps[-1].tool_calls:
                    self._close(work, steps[-1], reading)
                    return
                steps[-1] = self._act(work, steps[-1], reading)
            if not self._goes_on(work, activation):
                break
            seconds = self._seconds_left(deadline)
            if seconds < MIN_MODEL_SECONDS:
                self.runs.continue_later(work.claim)
                return
            asked = [*prompt.messages(), *(m for step in steps for m in step.messages())]
            account.check()
            step = self.answers.ask(work, reading, asked, tools, seconds)
            answer = self.answers.recorded(work, step, reading, prompt if not steps else None)
            self._take_down(work, step, reading, answer, account)
            if not step.tool_calls:
                return
            steps.append(step)
        self._release(work)
        if work.over:
            return
        if work.ended:
            self.completion.end(work.claim, "done")
            return
        self._carry_on(work, deadline, {})  # a reply was there already: go on with a fresh prompt

    def _take_down(
        self, work: Work, step: Step, reading: Reading, answer: Recording, account: TokenBudget
    ) -> None:
        """Record an answer, the last one with the end of its run, and count what it cost.

        Nobody who waits for the answer waits for the counting.
        """
        try:
            if step.tool_calls:
                work.claim = self.runs.record(answer)
            else:
                self._close(work, step, reading, answer)
        finally:
            if work.run.steps_taken == step.n:  # it is recorded, whatever became of it
                self.usage.add(work.run.tenant, step.usage, spread_by=work.run.id)
                account.charge(step.usage)

    @staticmethod
    def _goes_on(work: Work, activation: int) -> bool:
        """Whether the model is to be asked again in this activation."""
        if work.over or work.ended or work.run.activation != activation:
            return False
        if work.run.steps_taken >= MAX_STEPS:
            logger.warning("a run took all its steps", extra={"run_id": work.run.id})
            work.ended = True
        return not work.ended

    def _answer_anew(
        self, work: Work, steps: Sequence[Step], reading: Reading, shown: Shown
    ) -> None:
        """Give the fixed answer to a wish to start anew, of which no more was shown."""
        if steps:
            self._close(work, steps[-1], reading)
            return
        step = fixed_step(work.run, self.clock.now())
        held = held_by(reading, work.run)
        answer = recording(work.claim, step, shown=shown, held=held, marks=NO_PROMPT.marks)
        self._close(work, step, reading, answer)

    def _close(
        self, work: Work, step: Step, reading: Reading, answer: Recording | None = None
    ) -> None:
        """End a run whose model asks for nothing more: its text is the last word.

        Args:
            work: At the run.
            step: What the model said.
            reading: What the prompt was made from.
            answer: What writes that down, unless it has been.
        """
        claim = answer.claim if answer is not None else work.claim
        said = final_messages(claim, step, reading)
        if answer is not None and not all_one(claim, said):
            work.claim, answer = self.runs.record(answer), None
        try:
            self.final_messages.end(claim, said, answer, snapshot=reading.snapshot)
        except LostLease:
            raise
        except Exception:
            if answer is not None:  # it was paid for: whoever tries again uses it
                work.claim = self.runs.record(answer)
            raise
        work.claim = claim
        self._release(work)

    def _permit(self, work: Work, reading: Reading, *, until: datetime) -> None:
        """Get leave to work, if the agent has a limit.

        Raises:
            Busy: As many of its runs as may are at work.
        """
        limit = reading.agent.max_concurrent_runs or self.settings.max_concurrent_runs
        if limit is None:
            return
        if not self.permits.take(work.run, limit, until=until):
            raise Busy(f"{limit} runs of this agent are at work")
        work.permit = True

    def _release(self, work: Work) -> None:
        """Let another run work in this one's stead."""
        if work.permit:
            self.permits.give_back(work.run)
            work.permit = False

    def _act(self, work: Work, step: Step, reading: Reading) -> Step:
        """Carry out what the model asked for."""
        work.sent.clear()
        results = self.actor.carry_out(work, step, reading)
        if work.over or work.run.activation != step.activation:
            return step
        work.claim = self.runs.keep_results(work.claim, step, results, work.sent)
        return step.model_copy(update={"results": results})

    def _read(self, work: Work, steps: Sequence[Step], known: Known) -> Reading:
        """Read for the chat that the activation looks at.

        A worker that takes over looks at the chat that the recorded prompt showed, and works for
        the people for whom that prompt was built.

        Raises:
            ReadersChanged: Someone else reads that chat now, and there is more to do.
        """
        run, chat, member = work.run, work.claim.chat, work.claim.member
        shown = run.shown.chat_id if run.shown else None
        looked_at = shown if steps else run.active_chat_id
        if looked_at is None:
            chat, member = None, None
        elif chat is None or chat.id != looked_at:
            chat, member = place_elsewhere(self.table, work.claim, looked_at)
        if not steps:
            return self.contexts.fresh(run, chat, member, known)
        if steps[-1].tool_calls and not ended_in(steps[-1]):
            self._check_readers(run, chat)
        reading = self.contexts.again(run, chat, member, known)
        if run.held is None:
            return reading
        return replace(reading, destination=run.held.readers, audience=run.held.audience)

    @staticmethod
    def _check_readers(run: Run, chat: Chat | None) -> None:
        """Refuse to go on with a prompt that was built for other people than read the chat now.

        Raises:
            ReadersChanged: It was, or nothing says for whom it was built.
        """
        if run.held is None:
            raise ReadersChanged(f"{run.id}: nothing records what this activation holds")
        if chat is not None:
            check_readers(run.held, chat)

    def _seconds_left(self, deadline: datetime) -> float:
        model_deadline = deadline - timedelta(seconds=WRITING_SECONDS)
        return (model_deadline - self.clock.now()).total_seconds()
