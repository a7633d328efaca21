"""Take the steps of a turn: ask the model, record its answer, and carry out its calls."""

from dataclasses import dataclass

from skein.agent.answers import leaves_no_question, review
from skein.agent.executor import ToolExecutor
from skein.agent.turn_ending import TurnEndings
from skein.agent.turn_opening import TurnReadings
from skein.agent.turn_state import Opened, Stop, Turn
from skein.agent.turn_steps import (
    FixedAnswer,
    ModelSteps,
    StreamedActivation,
    fixed_step,
    recording_without_prompt,
)
from skein.errors import ReadersChanged
from skein.models.common.reason import Reason
from skein.models.quotas.usage import Payer
from skein.models.runs.step import Step
from skein.ports import Clock
from skein.services.quotas.token_budget import payer_of
from skein.services.quotas.usage import UsageCounters
from skein.services.runs import policy
from skein.services.runs.activations import Activations, Recording, recording
from skein.services.runs.claim import with_results


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSteps:
    """Service that takes the steps of a turn."""

    model_steps: ModelSteps
    tool_executor: ToolExecutor
    activations: Activations
    usage: UsageCounters
    readings: TurnReadings
    endings: TurnEndings
    clock: Clock

    def record_agreed(self, turn: Turn, opened: Opened, step: Step) -> None:
        """Record, as the activation's first step, the calls that people have approved."""
        activation, reading, prompt = turn.activation, opened.reading, opened.prompt
        if opened.fixed is not None:
            shown = opened.fixed.shown
            step_recording = recording_without_prompt(activation.claim, step, reading, shown)
        else:
            step_recording = self.model_steps.recording_of(activation, step, reading, prompt)
        activation.claim = self.activations.record(step_recording)
        opened.steps.append(step)
        opened.agreed = None

    def answer_fixed(self, turn: Turn, opened: Opened, fixed: FixedAnswer) -> None:
        """Post the fixed answer, and end the run.

        Raises:
            Forbidden: The person has opted out of SMS.
        """
        activation, reading = turn.activation, opened.reading
        step = fixed_step(activation.run, fixed.prompt, self.clock.now())
        if opened.steps:
            self.readings.check_opt_out(activation.run, reading, opened.steps)
            step_recording = recording(activation.claim, step, shown=None)
        else:
            claim, shown = activation.claim, fixed.shown
            step_recording = recording_without_prompt(claim, step, reading, shown)
        self.endings.post(activation, step, reading, step_recording)
        turn.stopped = Stop(Reason.RUN_ENDED)

    def ask(self, turn: Turn, opened: Opened) -> None:
        """Ask the model for one step, record it, and charge its tokens.

        A final answer ends the run.

        Raises:
            ModelDown, ModelRejected: There is no answer; see `ModelSteps.ask`.
            OverLimit: The tokens of the person or the tenant are spent.
            Forbidden: The person has opted out of SMS.
            ReadersChanged: A sharing rule no longer allows content that the activation was shown.
        """
        activation, reading, steps = turn.activation, opened.reading, opened.steps
        seconds = turn.seconds_left(self.clock.now())
        if steps:
            self.readings.check_opt_out(activation.run, reading, steps)
        if opened.budget is not None:
            opened.budget.check()
        prompt, tools = opened.prompt, opened.tools
        answer = self.model_steps.ask(activation, reading, prompt, steps, tools, seconds)
        step, marks = review(activation.claim, answer, steps, reading, tools)
        step_recording = self.model_steps.recording_of(
            activation, step, reading, None if steps else prompt, marks
        )
        self._record_and_charge(activation, step, opened, step_recording)
        steps.append(step)
        if step.is_final:
            turn.stopped = Stop(Reason.RUN_ENDED)

    def _record_and_charge(
        self, activation: StreamedActivation, step: Step, opened: Opened, step_recording: Recording
    ) -> None:
        """Record an answer, then charge its tokens.

        A final answer and the end of its run are written together. Tokens are charged last, so that
        the charge does not delay the answer. The charge of a final answer also returns the run's
        permits to the concurrency limits.
        """
        ended = False
        try:
            if not step.is_final:
                self._record_before_calls(activation, step_recording)
            else:
                self.endings.end(activation, step, opened.reading, step_recording)
                ended = True
        finally:
            # The step can be recorded even if a later write failed.
            if activation.run.steps_taken == step.n:
                self._charge(activation, step, opened, settles=ended)
                activation.permit = activation.permit and not ended

    def _charge(
        self, activation: StreamedActivation, step: Step, opened: Opened, *, settles: bool
    ) -> None:
        self.model_steps.count_fault(step)
        run = activation.run
        self.usage.add(
            run.tenant,
            step.usage,
            spread_by=run.id,
            model=step.model,
            payer=Payer(run.agent_id, payer_of(run)),
            budget=opened.budget,
            settles=settles,
        )

    def _record_before_calls(
        self, activation: StreamedActivation, step_recording: Recording
    ) -> None:
        """Record an answer before its calls are made, even if the calls are no longer allowed.

        Raises:
            ReadersChanged: A sharing rule no longer allows content that the activation was shown.
        """
        try:
            activation.claim = self.activations.record(step_recording, acts=True)
        except ReadersChanged:
            activation.claim = self.activations.record(step_recording)
            raise

    def carry_out(self, turn: Turn, opened: Opened) -> None:
        """Carry out the calls of the newest step, and record their results.

        If the run now waits, or if a new activation has begun, no results are recorded.
        """
        activation, reading, step = turn.activation, opened.reading, opened.steps[-1]
        activation.earlier = tuple(opened.steps[:-1])
        activation.sent.clear()
        activation.disclosed.clear()
        until = policy.model_deadline(turn.deadline)
        known = len(activation.cited)
        results = self.tool_executor.carry_out(activation, step, reading, until=until)
        if activation.over or activation.run.activation != step.activation:
            return
        claim = with_results(activation.claim, [each.name for each in results], activation.sent)
        shown = tuple(activation.cited[known:])
        done = step.model_copy(update={"results": results, "begun": (), "cited": shown})
        if not (activation.ended or activation.results_wanted):
            ends = leaves_no_question(claim, done, reading)
            done = done.model_copy(update={"ends_run": ends})
        self.activations.keep_results(claim, done, also=activation.disclosed)
        activation.claim = claim
        opened.steps[-1] = done
