"""One answer of the model: asked for, and prepared to be written down."""

from collections.abc import Sequence
from dataclasses import dataclass

from skein.agent.reading.reader import Reading
from skein.agent.tools.base import Tool, Work
from skein.errors import Transient
from skein.models.completion import ModelMessage, ModelRequest
from skein.models.recordable import MAX_ANSWER_BYTES, recordable_calls, recordable_text
from skein.models.run import Held, Run, Shown
from skein.models.step import PromptRecord, Step
from skein.ports import Clock, LanguageModel, Metrics
from skein.services.runs.step_record import Recording, recording
from skein.services.workspace.thread_writes import stint
from skein.settings import Settings


class ModelDown(Transient):
    """The model could not be asked; the run waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Asks the model."""

    model: LanguageModel
    clock: Clock
    metrics: Metrics
    settings: Settings

    def ask(
        self,
        work: Work,
        reading: Reading,
        messages: Sequence[ModelMessage],
        tools: Sequence[Tool],
        seconds: float,
    ) -> Step:
        """Ask the model once.

        Args:
            work: At which run.
            reading: What the prompt was made from.
            messages: The prompt, and what has been done since.
            tools: What it may use.
            seconds: How much time there is.

        Raises:
            ModelDown: It is out of reach.
            ModelRejected: It refuses this very request.
        """
        started_at = self.clock.now()
        request = ModelRequest(
            model=reading.agent.model or self.settings.default_model,
            messages=tuple(messages),
            tools=tuple(tool.spec for tool in tools),
            max_output_tokens=reading.effective.reserved_response_tokens,
            timeout_seconds=min(seconds, self.settings.model_timeout_seconds),
        )
        try:
            answer = self.model.complete(request)
        except Transient as error:
            raise ModelDown(str(error)) from error
        n = work.run.steps_taken + 1
        text = recordable_text(answer.text, alone=not answer.tool_calls)
        return Step(
            tenant=work.run.tenant,
            run_id=work.run.id,
            n=n,
            activation=work.run.activation,
            model=answer.model,
            text=text,
            tool_calls=recordable_calls(
                answer.tool_calls,
                n=n,
                room=MAX_ANSWER_BYTES - len(text.encode()),
                taken={call.id for message in messages for call in message.tool_calls},
            ),
            usage=answer.usage,
            started_at=started_at,
            ended_at=self.clock.now(),
        )

    def recorded(
        self, work: Work, step: Step, reading: Reading, prompt: PromptRecord | None
    ) -> Recording:
        """What writes an answer down, with its prompt if it is the activation's first."""
        if prompt is None:
            return recording(work.claim, step, shown=None)
        run, thread = work.run, reading.threads.active
        at_thread = thread is not None and reading.threads.here
        if "core_memories_over_budget" in prompt.marks:
            self.metrics.count("CoreMemoriesOverBudget")
        return recording(
            work.claim,
            step.model_copy(update={"prompt": prompt.packed(step.prompt_room)}),
            shown=Shown(chat_id=reading.chat.id, seq=reading.shown_seq) if reading.chat else None,
            held=held_by(reading, work.run),
            borrowed=reading.borrowed.shown if reading.borrowed is not None else None,
            marks=prompt.marks,
            thread=thread,
            at_thread=[stint(thread, run.id, run.activation, reading.audience, self.clock)]
            if thread and at_thread
            else [],
        )


def held_by(reading: Reading, run: Run) -> Held:
    """Return what a prompt holds that is made from a reading, and who was present for all of it."""
    audience = reading.audience.narrowed(run.audience) if reading.told else reading.audience
    return Held(
        chat_id=reading.chat.id if reading.chat is not None else None,
        readers=reading.destination,
        audience=audience,
        borrowed=reading.borrowed.shown if reading.borrowed is not None else None,
    )
