"""Ask a model about new content in the background, outside of any run.

Consolidation, reflection, summaries and titles are tasks of this engine. A task defines what is
due, what it reads, which question it asks, and what it writes. It reads only what is new since its
watermark, the point up to which earlier results are stored. Everything else is the same for every
task and is defined here: the sequence of steps, the deadline, the token budget, the model call, its
cost, and how failures are handled.

A job is idempotent. The claim decides from the stored items what is due, and each write is
conditional on the watermark or the state that was read. So a lost, duplicate or late job does no
harm, and a worker writes nothing if another worker was faster.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Generic, NamedTuple, TypeVar

from skein.errors import ModelRejected, NotFound, SkeinError, Transient
from skein.models.outbox.jobs import Job
from skein.models.quotas.usage import NO_WORDS, Payer, Words
from skein.models.runs.completion import ModelAnswer, ModelMessage, ModelRequest, TokenUsage
from skein.ports import Clock, LanguageModel, Metrics
from skein.services.common.optimistic import optimistic
from skein.services.quotas.token_budget import TokenBudget
from skein.services.quotas.usage import Budget, OverBudget, PersonOverBudget, UsageCounters

CHARACTERS_PER_TOKEN = 4
MARGIN_SECONDS = 20  # reserved after the answer to the last question, for its writes

logger = logging.getLogger(__name__)

J = TypeVar("J", bound=Job)
Claim = TypeVar("Claim")
Batch = TypeVar("Batch")
Answer = TypeVar("Answer")


class UnusableAnswer(SkeinError):
    """The model's answer cannot be used; the watermark stays, and the batch is tried again."""


class TooMuch(UnusableAnswer):
    """The model's answer was cut off, or its results do not fit into one transaction."""


class Overtaken(SkeinError):
    """Another worker changed the watermark or the state first; nothing was written."""


class Question(NamedTuple, Generic[Answer]):
    """A question to a model.

    Attributes:
        model: The name of the model.
        schema: The strict JSON schema of the answer.
        agent_id: The agent for whose usage the call is counted; None for no agent.
        spread_by: Any id. It selects one of the tenant's usage counters, to spread the writes.
        parse: Parses the answer; raises `UnusableAnswer` if the answer cannot be used.
        words: The people whose messages the question includes, and who are charged for the call.
        image_bytes: The bytes of the pictures in the messages, by picture id.
    """

    model: str
    messages: tuple[ModelMessage, ...]
    schema: dict[str, object]
    agent_id: str | None
    spread_by: str
    parse: Callable[[ModelAnswer], Answer]
    words: Words = NO_WORDS
    image_bytes: Mapping[str, bytes] = {}

    @property
    def size(self) -> int:
        """The approximate number of tokens in the question."""
        words = sum(len(message.content) for message in self.messages) // CHARACTERS_PER_TOKEN
        images = (image for message in self.messages for image in message.images)
        return words + sum(image.tokens(self.model, "auto") for image in images)


class Failure(NamedTuple):
    """Why a batch was not processed.

    Attributes:
        why: The cause that operators see. After a failed model call, this is the name of the
            error's class, because the error's text may quote the prompt. After an unusable answer,
            this is the text of the `UnusableAnswer`.
        usage: The tokens that the failed attempt used.
    """

    why: str
    usage: TokenUsage


class Outcome(NamedTuple):
    """How the work on a claim ended; by default, everything was processed.

    Attributes:
        out_of_time: Whether the time ran out before everything was processed.
        not_before: When to try again; set if the tenant's budget or a person's share of it is used
            up, or if background work is paused.
        of_person: Whether the work stopped because a person's share is used up.
    """

    out_of_time: bool = False
    not_before: datetime | None = None
    of_person: bool = False


class Task(ABC, Generic[J, Claim, Batch, Answer]):
    """One kind of background work, such as consolidation; a subclass implements its steps.

    Attributes:
        name: The name in logs.
        failures: The metric that counts failures.
        seconds: The maximum duration of the model call, including any retry within the call.
        answer_tokens: The maximum number of tokens in an answer.
    """

    name: ClassVar[str]
    failures: ClassVar[str]
    seconds: ClassVar[int]
    answer_tokens: ClassVar[int]

    @abstractmethod
    def claim(self, job: J, until: datetime) -> Claim | None:
        """Claim a job's due work; the claim ends at `until`. Return None if nothing is due.

        Raises:
            ConditionFailed: Another worker was faster; the engine calls `claim` again.
            NotFound: The item that the job names no longer exists.
        """

    @abstractmethod
    def read(self, claim: Claim) -> Iterator[Iterator[Batch]]:
        """Yield the new content since the watermark, as series of batches.

        The engine asks one question about each batch. Within a series, the engine takes the next
        batch only after it has written the results of the previous batch. A failure ends its
        series; the other series continue.
        """

    @abstractmethod
    def question(self, claim: Claim, batch: Batch) -> Question[Answer]:
        """Build the question about a batch."""

    @abstractmethod
    def write(self, claim: Claim, batch: Batch, answer: Answer, usage: TokenUsage) -> None:
        """Store the results of the answer and move the watermark, in one conditional transaction.

        Raises:
            Overtaken: The watermark has moved; nothing is stored.
            TooMuch: The writes do not fit into one transaction; nothing is stored.
        """

    @abstractmethod
    def fail(self, claim: Claim, batch: Batch, failure: Failure) -> None:
        """Record a failure and the time of the next try; the watermark stays.

        Raises:
            Overtaken: The watermark has moved; nothing is stored.
        """

    def halves(self, batch: Batch) -> Sequence[Batch]:
        """Split a batch because its answer is too large; return no parts if it cannot be split."""
        return ()

    def release(self, claim: Claim, outcome: Outcome) -> None:
        """Release the claim, and make any remaining work due again.

        Raises:
            Overtaken: Another worker has claimed the work; nothing is stored.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundEngine:
    """The service that runs the tasks of background work."""

    clock: Clock
    model: LanguageModel
    usage: UsageCounters
    budget: Budget
    metrics: Metrics

    def run(self, task: Task[J, Claim, Batch, Answer], job: J, *, deadline: datetime) -> None:
        """Run a job of a task (idempotent).

        The engine asks the first question even if little time is left, and each further question
        only if enough time is left before the deadline. It stops asking once the tenant's budget or
        a person's share is used up.

        Args:
            job: Names the item to work on.
            deadline: When the invocation and the claim end.

        Raises:
            Transient: The table failed. The job can be repeated.
        """
        with suppress(NotFound, Overtaken):
            claim = optimistic(self.clock, lambda: task.claim(job, deadline))
            if claim is None:
                return
            last = deadline - timedelta(seconds=task.seconds + MARGIN_SECONDS)
            task.release(claim, _ClaimedJob(self, task, job, claim, last).carry_out())


class _OutOfTime(SkeinError):
    """There is no time left for another question before the deadline."""


@dataclass(slots=True)
class _ClaimedJob(Generic[J, Claim, Batch, Answer]):
    """The work on one claim. No further question is asked after the time `last`."""

    engine: BackgroundEngine
    task: Task[J, Claim, Batch, Answer]
    job: J
    claim: Claim
    last: datetime
    asked: bool = False

    def carry_out(self) -> Outcome:
        """Process all new content, until the time or the budget is used up."""
        try:
            for series in self.task.read(self.claim):
                try:
                    for batch in series:
                        if not self._decide(batch):
                            break
                except Overtaken:
                    logger.info("%s overtaken", self.task.name, extra=self._ids)
        except _OutOfTime:
            return Outcome(out_of_time=True)
        except OverBudget as error:
            of_person = isinstance(error, PersonOverBudget)
            return Outcome(not_before=self.engine.budget.next_try(error), of_person=of_person)
        return Outcome()

    def _decide(self, whole: Batch) -> bool:
        """Ask about a batch and store the answer; split a batch that has too many results.

        Returns:
            Whether the batch was processed. If not, the failure was recorded, and the caller ends
            the series.
        """
        left, spent = [whole], TokenUsage()
        while left:
            batch = left.pop()
            if self.asked and self.engine.clock.now() > self.last:
                raise _OutOfTime
            self.asked = True
            question = self.task.question(self.claim, batch)
            budget = self.engine.budget.check(
                self.job.tenant, question.words, size=question.size, spread_by=question.spread_by
            )
            self.engine.usage.reserve(self.job.tenant, question.words, question.size)
            try:
                answer = self._ask(question, budget)
            except (Transient, ModelRejected) as error:
                with suppress(Transient):
                    self.engine.usage.reserve(self.job.tenant, question.words, -question.size)
                self._fail(batch, error, Failure(type(error).__name__, spent))
                return False
            spent += answer.usage
            try:
                self.task.write(self.claim, batch, question.parse(answer), spent)
            except UnusableAnswer as error:
                parts = self.task.halves(batch) if isinstance(error, TooMuch) else ()
                if not parts:
                    self._fail(batch, error, Failure(str(error), spent))
                    return False
                left.extend(reversed(parts))
            else:
                spent = TokenUsage()
        return True

    def _ask(self, question: Question[Answer], budget: TokenBudget) -> ModelAnswer:
        """Call the model once, and charge the tokens to the tenant and the question's people."""
        request = ModelRequest(
            model=question.model,
            messages=question.messages,
            max_output_tokens=self.task.answer_tokens,
            timeout_seconds=self.task.seconds,
            answer_schema=question.schema,
            image_bytes=question.image_bytes,
        )
        answer = self.engine.model.complete(request)
        self.engine.usage.add(
            self.job.tenant,
            answer.usage,
            spread_by=question.spread_by,
            model=answer.model,
            payer=Payer(question.agent_id),
            background=True,
            words=question.words,
            reserved=question.size,
            budget=budget,
        )
        return answer

    def _fail(self, batch: Batch, error: SkeinError, failure: Failure) -> None:
        extra = self._ids | {"why": str(error)}
        logger.warning("%s failed", self.task.name, extra=extra)
        self.engine.metrics.count(self.task.failures)
        self.task.fail(self.claim, batch, failure)

    @property
    def _ids(self) -> dict[str, object]:
        return self.job.model_dump(exclude={"v", "hops"}, exclude_none=True)
