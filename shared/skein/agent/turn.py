"""One activation of a run: claim it, show the agent its context, ask, record, say, end."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from skein.agent.context import ContextBuilder
from skein.errors import (
    Conflict,
    LostLease,
    ModelRejected,
    NotFound,
    Rejected,
    RiderFailed,
    Transient,
)
from skein.models.base import MemberRef
from skein.models.chat import MAX_TEXT
from skein.models.completion import ModelRequest
from skein.models.jobs import RunJob
from skein.models.run import Step
from skein.ports import Clock, LanguageModel
from skein.services.chats import Chats, NewMessage
from skein.services.runs import Claim, Runs
from skein.services.usage import UsageBook
from skein.settings import Settings

LEASE_MARGIN = timedelta(seconds=2)  # the lease outlives the invocation, never the other way round
WRITING_SECONDS = 10  # kept back from the model's time for recording and posting its answer
LEAST_MODEL_SECONDS = 20  # with less than this left, a fresh invocation goes on
SILENCE = "[silence]"

logger = logging.getLogger(__name__)


class ModelDown(Transient):
    """The model could not be asked; the run waits for it."""


@dataclass(slots=True)
class _Work:
    """The claim as last written, also for whoever must clean up after a failure half-way."""

    claim: Claim


class Turns:
    """Carries out runs."""

    def __init__(
        self,
        *,
        runs: Runs,
        context: ContextBuilder,
        chats: Chats,
        model: LanguageModel,
        usage: UsageBook,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._runs = runs
        self._context = context
        self._chats = chats
        self._model = model
        self._usage = usage
        self._clock = clock
        self._settings = settings

    def take(self, job: RunJob, *, deadline: datetime) -> None:
        """Carry a run on as far as it goes in this invocation.

        Args:
            job: Which run.
            deadline: When this invocation will be stopped; the lease follows it.

        Raises:
            Transient: The table is out of reach; the queue, and later the tick, bring it back.
        """
        claim = self._runs.claim(job, lease_until=deadline + LEASE_MARGIN)
        if claim is None:
            return
        work = _Work(claim)
        try:
            try:
                self._carry_on(work, deadline)
            except LostLease:
                raise
            except Exception as error:
                self._settle(work.claim, error)
        except LostLease:
            logger.info("the run was taken over", extra={"run_id": claim.run.id})

    def _settle(self, claim: Claim, error: Exception) -> None:
        """Decide what becomes of a run whose activation did not come to its end."""
        run_id = claim.run.id
        if isinstance(error, ModelDown):
            logger.warning("the model is down", extra={"run_id": run_id, "why": str(error)})
            self._runs.put_off(claim, str(error))
        elif isinstance(error, NotFound | Conflict):
            self._runs.end(claim, "canceled", error=str(error))
        elif isinstance(error, Rejected | ModelRejected):
            self._runs.end(claim, "failed", error=str(error))
        else:
            # A bug must not hold the agent's slot until the lease runs out: note it, try again.
            logger.error("an attempt failed", extra={"run_id": run_id}, exc_info=error)
            self._runs.retry_later(claim, f"{type(error).__name__}: {error}")

    def _carry_on(self, work: "_Work", deadline: datetime) -> None:
        recorded = self._runs.steps(work.claim)
        if recorded:
            step = recorded[-1]
        else:
            model_deadline = deadline - timedelta(seconds=WRITING_SECONDS)
            seconds = (model_deadline - self._clock.now()).total_seconds()
            if seconds < LEAST_MODEL_SECONDS:
                self._runs.hand_on(work.claim)
                return
            step = self._ask(work, seconds)
        self._say(work.claim, step)
        self._runs.end(work.claim, "done")

    def _ask(self, work: "_Work", seconds: float) -> Step:
        """Ask the model once, and record its answer before anything else happens."""
        run = work.claim.run
        prompt = self._context.build(run, work.claim.member.chat_id)
        started_at = self._clock.now()
        request = ModelRequest(
            model=prompt.agent.model or self._settings.default_model,
            messages=prompt.messages,
            max_output_tokens=self._settings.max_output_tokens,
            timeout_seconds=min(seconds, self._settings.model_timeout_seconds),
        )
        try:
            answer = self._model.complete(request)
        except Transient as error:
            raise ModelDown(str(error)) from error
        step = Step(
            tenant=run.tenant,
            run_id=run.id,
            n=run.steps_taken + 1,
            model=answer.model,
            text=answer.text,
            tool_calls=answer.tool_calls,
            usage=answer.usage,
            prompt=prompt.record.packed(),
            started_at=started_at,
            ended_at=self._clock.now(),
        )
        work.claim = self._runs.record(work.claim, step, shown_seq=prompt.shown_seq)
        self._usage.add(run.tenant, answer.usage, spread_by=run.id)
        return step

    def _say(self, claim: Claim, step: Step) -> None:
        """Post the final text, unless the agent chose silence."""
        text = step.text.strip()
        if not text or text.casefold() == SILENCE:
            return
        run = claim.run
        message = NewMessage(
            tenant=run.tenant,
            chat_id=claim.member.chat_id,
            sender=MemberRef(kind="agent", id=run.agent_id),
            text=text[:MAX_TEXT],
            client_id=f"{run.id}:{step.n}",
            depth=run.chain_depth + 1,
            run_id=run.id,
        )
        try:
            self._chats.post_message(message, riders=[claim.guard])
        except RiderFailed as error:
            raise LostLease(run.id) from error
