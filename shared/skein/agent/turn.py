"""The turn of an agent: claim a run, and carry it out phase by phase.

A step is one answer of the model and the results of its tools. The answer is recorded before any of
its tools is called. Each tool call has its own effect id, so a retry is harmless. If a worker dies,
the next worker uses the recorded answer and does not repeat any effect.

| module | content |
|---|---|
| `turn_state` | the state of a turn, and its next phase |
| `turn_opening` | what an activation reads, and its prompt |
| `turn_progress`, `turn_steps` | the steps: the model's answers, and their calls |
| `turn_ending` | the end of the run, with or without an answer, and the handling of errors |
"""

import logging
from dataclasses import dataclass
from datetime import datetime

from skein.agent.reading.reader import prefetch_keys
from skein.agent.turn_ending import TurnEndings, TurnSettlement
from skein.agent.turn_opening import TurnOpenings
from skein.agent.turn_progress import TurnSteps
from skein.agent.turn_state import (
    AnswerFixed,
    Ask,
    CarryOut,
    EndEarly,
    HandOver,
    Open,
    Opened,
    Phase,
    Post,
    RecordAgreed,
    Stop,
    Turn,
    next_phase,
)
from skein.agent.turn_steps import StreamedActivation
from skein.correlation import correlated
from skein.errors import LostLease, ReadersChanged
from skein.live.answer_streams import AnswerStreams
from skein.models.common.reason import Reason
from skein.models.outbox.jobs import RunJob
from skein.ports import Clock
from skein.services.replies.noticed_leases import NoticedLeases
from skein.services.runs import policy
from skein.tracing import span

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Worker that claims a run and carries out its activations."""

    leases: NoticedLeases
    openings: TurnOpenings
    steps: TurnSteps
    endings: TurnEndings
    settlement: TurnSettlement
    streams: AnswerStreams
    clock: Clock

    @correlated()
    def take(self, job: RunJob, *, deadline: datetime) -> None:
        """Claim a run and carry it out as far as this invocation allows.

        Args:
            job: The job that names the run.
            deadline: When this invocation will be stopped. The lease ends 2 seconds later.

        Raises:
            Transient: The table is out of reach. The queue, and later the tick, retry the run.
        """
        turn: Turn | None = None
        try:
            claim = self.leases.claim(
                job, lease_until=policy.lease_end(deadline), also_read=prefetch_keys(job)
            )
            if claim is None:
                return
            activation = StreamedActivation(claim, permit=bool(claim.permits))
            turn = Turn(activation, deadline, claim.found)
            run = claim.run
            with span("run", run=run.id, agent=run.agent_id, chat=run.chat_id or ""):
                stop = self._carry_on(turn)
        except LostLease:
            stop = self.settlement.taken_over(job, turn)
        finally:
            if turn is not None and turn.activation.stream is not None:
                turn.activation.stream.close()
                self.streams.finish()
        logger.debug("turn over", extra={"run_id": job.run_id, "reason": stop.reason})

    def _carry_on(self, turn: Turn) -> Stop:
        """Carry out one phase after another until the turn is over.

        Raises:
            LostLease: Another worker has taken the run over.
        """
        try:
            while not isinstance(phase := next_phase(turn, self.clock.now()), Stop):
                try:
                    self._carry_out(turn, phase)
                except ReadersChanged:
                    self.settlement.rebuild(turn)
            if phase.reason == Reason.WAITING_FOR_REPLY:
                self.endings.release(turn.activation)
        except LostLease:
            raise
        except Exception as error:
            return self.settlement.settle(turn, error)
        return phase

    def _carry_out(self, turn: Turn, phase: Phase) -> None:
        """Carry out a phase, and store in the turn what the phase has recorded."""
        activation, opened = turn.activation, turn.opened
        match phase, opened:
            case Open(), _:
                self.openings.open(turn)
            case HandOver(), _:
                turn.stopped = self.settlement.hand_over(turn)
            case RecordAgreed(step=step), Opened():
                self.steps.record_agreed(turn, opened, step)
            case CarryOut(), Opened():
                self.steps.carry_out(turn, opened)
            case Ask(), Opened():
                self.steps.ask(turn, opened)
            case AnswerFixed(fixed=fixed), Opened():
                self.steps.answer_fixed(turn, opened, fixed)
            case Post(step=step), Opened():
                self.endings.post(activation, step, opened.reading)
                turn.stopped = Stop(Reason.RUN_ENDED)
            case EndEarly(), Opened():
                self.endings.end_early(activation, opened.steps, opened.reading)
                turn.stopped = Stop(Reason.RUN_ENDED)
