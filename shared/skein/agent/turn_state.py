"""The state of a turn, and its next phase.

A turn is one invocation's work on a run. `next_phase` depends only on the state. It returns what
the turn does next, or a `Stop` with the reason why the turn is over.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from skein.agent.turn_steps import FixedAnswer, StreamedActivation
from skein.interface.reading import Reading
from skein.interface.tool import OfferedTool
from skein.models.common.reason import Reason
from skein.models.runs.step import PromptRecord, Step
from skein.own_tools.items import longest_call
from skein.services.quotas.token_budget import TokenBudget
from skein.services.runs import policy
from skein.services.runs.claim import PrefetchedItems


@dataclass(slots=True, kw_only=True)
class Opened:
    """An activation that is ready to work: its data, its prompt and its steps so far.

    Attributes:
        number: The number of the activation.
        reading: The data from which the prompt was built.
        steps: The recorded steps.
        fixed: The fixed answer to the run's message; None if the model answers. With a fixed
            answer, the prompt is empty, and `tools` and `budget` are not set. Approved calls are
            made before it is posted.
        agreed: A step with the calls that people have approved, until it is recorded as the first
            step.
    """

    number: int
    reading: Reading
    steps: list[Step]
    fixed: FixedAnswer | None = None
    tools: Sequence[OfferedTool] = ()
    prompt: PromptRecord
    budget: TokenBudget | None = None
    agreed: Step | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """The turn is over.

    Attributes:
        reason: `RUN_ENDED`: the run has ended. `WAITING_FOR_REPLY`: the run waits. `HANDED_OVER`:
            another invocation continues the run. Other values: how an error was handled.
    """

    reason: Reason


@dataclass(frozen=True, slots=True)
class Open:
    """Read the chat and build the prompt of the run's newest activation."""


@dataclass(frozen=True, slots=True)
class AnswerFixed:
    """Post the fixed answer, and end the run."""

    fixed: FixedAnswer


@dataclass(frozen=True, slots=True)
class RecordAgreed:
    """Record, as the first step, the calls that people have approved."""

    step: Step


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model, and record its answer; a final answer is posted."""


@dataclass(frozen=True, slots=True)
class CarryOut:
    """Carry out the calls of the newest step, and record their results."""


@dataclass(frozen=True, slots=True)
class Post:
    """End the run with its last step, which is already recorded."""

    step: Step


@dataclass(frozen=True, slots=True)
class EndEarly:
    """End the run without an answer, after `end_run` or because it has used all its steps."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """Let another invocation continue, because this one is running out of time."""


Phase: TypeAlias = (
    Open | AnswerFixed | RecordAgreed | Ask | CarryOut | Post | EndEarly | HandOver | Stop
)


@dataclass(slots=True)
class Turn:
    """The state of a turn.

    Attributes:
        activation: The state of the run's newest activation, which tools also use.
        deadline: When this invocation will be stopped.
        prefetched: The items that were read with the claim, for the first activation only.
        opened: The open activation. None before it is opened, and after its readers have changed.
        stopped: Why the turn is over; None while it goes on.
    """

    activation: StreamedActivation
    deadline: datetime
    prefetched: PrefetchedItems = field(default_factory=dict)
    opened: Opened | None = None
    stopped: Stop | None = None

    @property
    def is_current(self) -> bool:
        """Whether `opened` is the run's newest activation.

        If a tool asks a question that already has a reply, the run begins a new activation, and
        `opened` is no longer the newest.
        """
        opened = self.opened
        return opened is not None and opened.number == self.activation.run.activation

    def seconds_left(self, now: datetime) -> float:
        """Return the seconds that are left for model calls and tool calls."""
        return (policy.model_deadline(self.deadline) - now).total_seconds()


def next_phase(turn: Turn, now: datetime) -> Phase:
    """Return what a turn does next.

    Args:
        now: The current time, from which the remaining seconds are counted.
    """
    if turn.stopped is not None:
        return turn.stopped
    if turn.activation.over:
        return Stop(Reason.WAITING_FOR_REPLY)
    if turn.opened is None:
        return Open()
    opened, seconds_left = turn.opened, turn.seconds_left(now)
    if opened.agreed is not None:
        return RecordAgreed(opened.agreed)
    return _after_step(turn, opened, seconds_left) or _next_step(turn, opened, seconds_left)


def _after_step(
    turn: Turn, opened: Opened, seconds_left: float
) -> CarryOut | HandOver | Post | None:
    """Return what is left to do after the newest step; None if nothing is."""
    if not opened.steps or not turn.is_current:
        return None
    newest = opened.steps[-1]
    if newest.tool_calls and newest.results is None:
        enough = seconds_left >= longest_call(newest, opened.reading)
        return CarryOut() if enough else HandOver()
    return Post(newest) if newest.is_last else None


def _next_step(
    turn: Turn, opened: Opened, seconds_left: float
) -> AnswerFixed | Open | Ask | EndEarly | HandOver:
    """Return how a turn continues after all calls of its steps are carried out."""
    if opened.fixed is not None:
        return AnswerFixed(opened.fixed)
    if turn.activation.ended:
        return EndEarly()
    if not turn.is_current:
        return Open()
    if turn.activation.run.steps_taken >= policy.MAX_STEPS:
        return EndEarly()
    return Ask() if seconds_left >= policy.MIN_MODEL_SECONDS else HandOver()
