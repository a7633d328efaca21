"""One activation of a run: claim it, show the agent its context, and go on step by step.

A step is one answer of the model, recorded before anything that it asks for is carried out, and
then its tools, each effect under a name of its own. So a worker may die anywhere: the next one
uses the recorded answer, and what was done is not done again (DESIGN section 5, invariant 6).
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from skein.agent.context import ContextBuilder, Manner
from skein.agent.contexts import Contexts
from skein.agent.reading import Reading
from skein.agent.resets import NO_PROMPT, asked_anew, fixed_step
from skein.agent.taking_over import ended_in, recorded_prompt
from skein.agent.tools import enabled
from skein.agent.tools.acting import Actor
from skein.agent.tools.base import Tool, Work
from skein.correlation import correlated
from skein.errors import (
    Conflict,
    LostLease,
    ModelRejected,
    NotFound,
    Rejected,
    Transient,
)
from skein.masking import in_our_words
from skein.models.completion import ModelMessage, ModelRequest
from skein.models.jobs import RunJob
from skein.models.run import MAX_STEPS, Shown
from skein.models.step import FIXED_ANSWER, PromptRecord, Step
from skein.ports import Clock, LanguageModel, Table
from skein.services.apologies import Apologies
from skein.services.claims import place_elsewhere
from skein.services.endings import Endings
from skein.services.limits import OverLimit
from skein.services.notices import Notices
from skein.services.permits import Permits
from skein.services.runs import Runs
from skein.services.spending import Spending
from skein.services.thread_writes import stint
from skein.services.usage import UsageBook
from skein.settings import Settings

LEASE_MARGIN = timedelta(seconds=2)  # the lease outlives the invocation, never the other way round
WRITING_SECONDS = 10  # kept back from the model's time for recording and posting its answer
LEAST_MODEL_SECONDS = 20  # with less than this left, a fresh invocation goes on
BUSY_SECONDS = 30  # the longest pause before a run asks again whether it may work

logger = logging.getLogger(__name__)


class ModelDown(Transient):
    """The model could not be asked; the run waits for it."""


class Busy(Transient):
    """The agent has as many runs at work as it may; this one waits for its turn."""


class Turns:
    """Carries out runs."""

    def __init__(
        self,
        *,
        table: Table,
        runs: Runs,
        endings: Endings,
        permits: Permits,
        contexts: Contexts,
        context: ContextBuilder,
        actor: Actor,
        apologies: Apologies,
        model: LanguageModel,
        usage: UsageBook,
        spending: Spending,
        notices: Notices,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._table = table
        self._runs = runs
        self._endings = endings
        self._permits = permits
        self._contexts = contexts
        self._context = context
        self._actor = actor
        self._apologies = apologies
        self._model = model
        self._usage = usage
        self._spending = spending
        self._notices = notices
        self._clock = clock
        self._settings = settings

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
            claim = self._runs.claim(job, lease_until=deadline + LEASE_MARGIN)
            if claim is None:
                return
            work = Work(claim)
            try:
                self._carry_on(work, deadline)
            except LostLease:
                raise
            except Exception as error:
                self._settle(work, error)
        except LostLease:
            logger.info("the run was taken over", extra={"run_id": job.run_id})
            if work is not None and work.permit and self._runs.is_over(work.claim):
                self._release(work)

    def _settle(self, work: Work, error: Exception) -> None:
        """Decide what becomes of a run whose activation did not come to its end."""
        claim, run_id = work.claim, work.run.id
        self._release(work)
        if isinstance(error, Busy):
            self._runs.put_off(claim, str(error), longest_seconds=BUSY_SECONDS)
        elif isinstance(error, ModelDown):
            logger.warning("a run is put off", extra={"run_id": run_id, "why": str(error)})
            self._apologies.late(claim)
            self._runs.put_off(claim, str(error))
        elif isinstance(error, OverLimit):
            self._notices.out_of_tokens(claim, error.refusal)
            self._endings.end(claim, "canceled", error=f"over a limit: {error}")
        elif isinstance(error, NotFound | Conflict):
            self._endings.end(claim, "canceled", error=str(error))
        elif isinstance(error, Rejected | ModelRejected):
            self._endings.end(claim, "failed", error=str(error))
        else:
            # A bug must not hold the agent's slot until the lease runs out: note it, try again.
            logger.error("an attempt failed", extra={"run_id": run_id}, exc_info=error)
            self._runs.retry_later(claim, in_our_words(error))

    def _carry_on(self, work: Work, deadline: datetime) -> None:
        activation = work.run.activation
        steps = list(self._runs.steps(work.claim))
        reading = self._read(work, steps)
        tools = enabled(reading.agent.enabled_tools)
        account = self._spending.account(work.run, reading.allowance, reading.tenant)
        self._permit(work, reading, until=deadline + LEASE_MARGIN)
        anew = asked_anew(work.run, reading)
        prompt = recorded_prompt(steps) or (
            NO_PROMPT
            if anew is not None
            else self._context.build(work.run, reading, [tool.spec for tool in tools])
        )
        work.ended = bool(steps) and ended_in(steps[-1])
        while work.run.activation == activation:
            if steps and steps[-1].results is None:
                steps[-1] = self._act(work, steps[-1], reading)
            if work.over or work.ended or work.run.activation != activation:
                break
            if work.run.steps_taken >= MAX_STEPS:
                logger.warning("a run took all its steps", extra={"run_id": work.run.id})
                work.ended = True
                break
            if anew is not None:
                steps.append(self._answer_anew(work, anew))
                continue
            seconds = self._seconds_left(deadline)
            if seconds < LEAST_MODEL_SECONDS:
                self._runs.hand_on(work.claim)
                return
            asked = [*prompt.messages(), *(m for step in steps for m in step.messages())]
            account.check()
            answer = self._ask(work, reading, asked, tools, seconds)
            steps.append(self._record(work, answer, reading, prompt if not steps else None))
            account.charge(answer.usage)
        self._release(work)
        if work.over:
            return
        if work.ended:
            self._endings.end(work.claim, "done")
            return
        self._carry_on(work, deadline)  # a reply was there already: go on with a fresh prompt

    def _permit(self, work: Work, reading: Reading, *, until: datetime) -> None:
        """Get leave to work, if the agent has a limit.

        Raises:
            Busy: As many of its runs as may are at work.
        """
        limit = reading.agent.max_concurrent_runs or self._settings.max_concurrent_runs
        if limit is None:
            return
        if not self._permits.take(work.run, limit, until=until):
            raise Busy(f"{limit} runs of this agent are at work")
        work.permit = True

    def _release(self, work: Work) -> None:
        """Let another run work in this one's stead."""
        if work.permit:
            self._permits.give_back(work.run)
            work.permit = False

    def _act(self, work: Work, step: Step, reading: Reading) -> Step:
        """Carry out what the model asked for; without tools, its text is the last word."""
        if not step.tool_calls:
            fixed = step.model == FIXED_ANSWER
            if fixed or Manner.of(reading.agent, reading.chat).reply_mode == "text":
                self._actor.say(work, step, reading)
            work.ended = True
            return step
        work.sent.clear()
        results = self._actor.carry_out(work, step, reading)
        if work.over or work.run.activation != step.activation:
            return step
        work.claim = self._runs.keep_results(work.claim, step, results, work.sent)
        return step.model_copy(update={"results": results})

    def _read(self, work: Work, steps: Sequence[Step]) -> Reading:
        """Read for the chat that the activation looks at.

        A worker that takes over looks at what the recorded prompt showed, wherever the agent has
        gone since: what is said and made now is still made from that.
        """
        run, chat, member = work.run, work.claim.chat, work.claim.member
        shown = run.shown.chat_id if run.shown else None
        looked_at = shown if steps else run.active_chat_id
        read = self._contexts.again if steps else self._contexts.fresh
        if looked_at is None:
            return read(run, None, None)
        if chat is None or chat.id != looked_at:
            chat, member = place_elsewhere(self._table, work.claim, looked_at)
        return read(run, chat, member)

    def _seconds_left(self, deadline: datetime) -> float:
        model_deadline = deadline - timedelta(seconds=WRITING_SECONDS)
        return (model_deadline - self._clock.now()).total_seconds()

    def _ask(
        self,
        work: Work,
        reading: Reading,
        messages: Sequence[ModelMessage],
        tools: Sequence[Tool],
        seconds: float,
    ) -> Step:
        """Ask the model once.

        Raises:
            ModelDown: It is out of reach.
            ModelRejected: It refuses this very request.
        """
        started_at = self._clock.now()
        request = ModelRequest(
            model=reading.agent.model or self._settings.default_model,
            messages=tuple(messages),
            tools=tuple(tool.spec for tool in tools),
            max_output_tokens=reading.effective.reserved_response_tokens,
            timeout_seconds=min(seconds, self._settings.model_timeout_seconds),
        )
        try:
            answer = self._model.complete(request)
        except Transient as error:
            raise ModelDown(str(error)) from error
        return Step(
            tenant=work.run.tenant,
            run_id=work.run.id,
            n=work.run.steps_taken + 1,
            activation=work.run.activation,
            model=answer.model,
            text=answer.text,
            tool_calls=answer.tool_calls,
            usage=answer.usage,
            started_at=started_at,
            ended_at=self._clock.now(),
        )

    def _record(
        self, work: Work, step: Step, reading: Reading, prompt: PromptRecord | None
    ) -> Step:
        """Record an answer, with its prompt if it is the activation's first, before all else."""
        shown, borrowed, thread, at_thread = None, None, None, []
        if prompt is not None:
            thread = reading.threads.active
            if thread is not None and reading.threads.here:
                at_thread = [stint(thread, work.run.id, self._clock)]
            step = step.model_copy(update={"prompt": prompt.packed()})
            if reading.chat is not None:
                shown = Shown(chat_id=reading.chat.id, seq=reading.shown_seq)
            if reading.borrowed is not None:
                borrowed = reading.borrowed.shown
        work.claim = self._runs.record(
            work.claim,
            step,
            shown=shown,
            borrowed=borrowed,
            marks=prompt.marks if prompt else (),
            thread=thread,
            at_thread=at_thread,
        )
        self._usage.add(work.run.tenant, step.usage, spread_by=work.run.id)
        return step

    def _answer_anew(self, work: Work, shown: Shown) -> Step:
        """Record the fixed answer to a wish to start anew, of which no more was shown."""
        step = fixed_step(work.run, self._clock.now())
        work.claim = self._runs.record(work.claim, step, shown=shown, marks=NO_PROMPT.marks)
        return step
