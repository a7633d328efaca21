"""Create a turn's steps: from the model, from an earlier attempt, or from a fixed answer.

A reset, and a request to keep a conversation private, get a fixed answer without a call to the
model. The fixed answer is a step of an ordinary run, which is claimed, recorded, posted and ended
like any other run. Operators can see it.
"""

import json
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from skein.agent.reading.held_content import held_by, told_by_rules
from skein.agent.sections.borrowed import BorrowedItems
from skein.agent.sections.participants import speakers_in
from skein.agent.spoken_start import spoken_start
from skein.agent.tools.runs import end_run
from skein.channels.text_cuts import cut_text
from skein.errors import KeyRefused, ModelRejected, ModelUnknown, Transient
from skein.interface.citations import shown_start
from skein.interface.history import History
from skein.interface.reading import Reading, current_seq
from skein.interface.section import speaks_in_text
from skein.interface.tool import OfferedTool
from skein.interface.tool_context import Activation
from skein.live.answer_streams import AnswerStream, AnswerStreams
from skein.models.common.reason import Reason
from skein.models.config.guardrail import Guardrail
from skein.models.runs.completion import ModelAnswer, ModelMessage, ModelRequest, TokenUsage
from skein.models.runs.recordable import (
    MAX_ANSWER_BYTES,
    MAX_ANSWER_TEXT,
    recordable_calls,
    recordable_text,
)
from skein.models.runs.run import AnswerMark, Run, ShownHistory
from skein.models.runs.step import FIXED_ANSWER, ModelFailure, PromptRecord, Step
from skein.own_tools.sections import RecordedCalls
from skein.ports import Clock, Guardrails, LanguageModel, Metrics
from skein.prompts import render
from skein.recall.disclosures import disclosure_records
from skein.recall.layout import RecalledEntry
from skein.recall.sections import RecalledMessages
from skein.services.chat_state.pictures import Pictures
from skein.services.runs import policy
from skein.services.runs.activations import Recording, recording
from skein.services.runs.claim import Claim
from skein.settings import Settings
from skein.tracing import describe, span
from skein.workspace.sections.threads import Threads
from skein.workspace.threads import run_link

MOST_GAPS = 10
TRIGGER = "TRIGGER"
logger = logging.getLogger(__name__)

LARGEST_LIMIT = 32_000  # output tokens of a repeated answer; models refuse a higher limit
MODEL_REASONS: dict[type[Transient], Reason] = {
    KeyRefused: Reason.MODEL_KEY_REFUSED,
    ModelUnknown: Reason.MODEL_UNKNOWN,
}


class ModelDown(Transient):
    """The model cannot be reached, so the run is deferred.

    Args:
        error: The error of the model's client.
    """

    def __init__(self, error: Transient) -> None:
        super().__init__(str(error))
        known = (why for kind, why in MODEL_REASONS.items() if isinstance(error, kind))
        self.reason = next(known, Reason.MODEL_UNAVAILABLE)


@dataclass(slots=True)
class StreamedActivation(Activation):
    """An activation with the stream of its answer; the stream is None if no one is listening."""

    stream: AnswerStream | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSteps:
    """Service that asks the model for answers and returns them as steps."""

    model: LanguageModel
    guardrails: Callable[[], Guardrails]
    clock: Clock
    metrics: Metrics
    pictures: Pictures
    settings: Settings

    def ask(
        self,
        activation: StreamedActivation,
        reading: Reading,
        prompt: PromptRecord,
        earlier: Sequence[Step],
        tools: Sequence[OfferedTool],
        seconds: float,
    ) -> Step:
        """Ask the model for one step.

        If an earlier answer was cut off, the token limit of this answer is doubled, up to
        `LARGEST_LIMIT`.

        Args:
            activation: The state of the activation.
            reading: The data from which the prompt was built.
            prompt: The prompt of the activation.
            earlier: The steps of the activation so far.
            tools: The tools that the model may call.
            seconds: The time limit. The setting `model_timeout_seconds` may lower it.

        Raises:
            ModelDown: The model is out of reach.
            ModelRejected: The provider refuses this request. The error is `ModelFiltered` if the
                content filter refused it.
        """
        run, started_at, messages = activation.run, self.clock.now(), _messages(prompt, earlier)
        request = self._request(run, reading, messages, earlier, tools, seconds)
        request = request.model_copy(update={"stable_end": prompt.stable_end()})
        shows = self.settings.otlp_content and is_public(reading)
        models = self._models(run, reading, request)
        asked, answer = self._guarded(
            reading.config.effective.guardrail,
            activation.stream,
            new=lambda: new_texts(reading, prompt, earlier),
            ask=lambda stream: self._answer(stream, request, models, shows=shows),
        )
        asked_for = self.clock.now() - started_at
        self.metrics.count("ModelSeconds", asked_for.total_seconds(), unit="Seconds")
        n = run.steps_taken + 1
        fit = _fit_to_record(answer, n, {call.id for one in messages for call in one.tool_calls})
        return Step(
            tenant=run.tenant,
            run_id=run.id,
            n=n,
            activation=run.activation,
            model=answer.model,
            text=fit.text,
            tool_calls=fit.tool_calls,
            fault=fit.fault,
            answered=reading.of(RecordedCalls).answered,
            usage=answer.usage,
            instead_of=_failure(run, request.model) if asked != request.model else None,
            started_at=started_at,
            ended_at=self.clock.now(),
        )

    def _request(
        self,
        run: Run,
        reading: Reading,
        messages: Sequence[ModelMessage],
        earlier: Sequence[Step],
        tools: Sequence[OfferedTool],
        seconds: float,
    ) -> ModelRequest:
        effective = reading.config.effective
        pictured = any(message.images for message in messages)
        sent = self.pictures.sent(run.tenant, messages) if pictured else None
        limit = effective.reserved_response_tokens
        cut_off = any(step.fault == "cut_off" for step in earlier)
        return ModelRequest(
            model=reading.agent.model or self.settings.default_model,
            messages=sent.messages if sent is not None else tuple(messages),
            tools=tuple(tool.spec for tool in tools),
            max_output_tokens=max(limit, min(2 * limit, LARGEST_LIMIT)) if cut_off else limit,
            reasons=any(step.usage.reasoning_tokens for step in earlier),
            timeout_seconds=min(seconds, self.settings.model_timeout_seconds),
            image_bytes=sent.image_bytes if sent is not None else {},
            image_detail=effective.image_detail,
            gaps=gaps_of(reading),
            cache_key=cache_key(run, reading),
        )

    def _guarded(
        self,
        guardrail: Guardrail | None,
        stream: AnswerStream | None,
        *,
        new: Callable[[], list[str]],
        ask: Callable[[AnswerStream | None], tuple[str, ModelAnswer]],
    ) -> tuple[str, ModelAnswer]:
        """Ask a model between the two checks of a guardrail, if the agent has one.

        A guarded answer is streamed only after both checks.

        Raises:
            GuardrailBlocked: The guardrail intervenes.
            ModelDown: The model or the guardrail is out of reach.
        """
        if guardrail is None:
            return ask(stream)
        from skein.services.runs.guarding import Guarding  # noqa: PLC0415 - few agents have one

        guarding = Guarding(self.guardrails(), guardrail)
        try:
            guarding.check_input(new())
            asked, answer = ask(None)
            guarding.check_answer(answer)
        except ModelDown:
            raise
        except Transient as error:
            raise ModelDown(error) from error
        if stream is not None:
            stream.retract()
            stream.show(answer.text)
        return asked, answer

    def _models(self, run: Run, reading: Reading, request: ModelRequest) -> list[str]:
        """Return the models to ask, in order; fallbacks come first if the agent's own is down."""
        effective = reading.config.effective
        patterns = effective.allowed_fallbacks
        if not patterns or not policy.falls_back(run, effective, self.clock.now()):
            return [request.model]
        named = reading.agent.fallback_models
        allowed = [name for name in named if any(fnmatchcase(name, one) for one in patterns)]
        return [*allowed, request.model]

    def _answer(
        self,
        stream: AnswerStream | None,
        request: ModelRequest,
        models: Sequence[str],
        *,
        shows: bool,
    ) -> tuple[str, ModelAnswer]:
        """Ask one model after another until one answers; return its name and its answer.

        Raises:
            ModelDown: All models are out of reach.
        """
        *fallbacks, last = models
        for name in fallbacks:
            try:
                other = request.model_copy(update={"model": name})
                return name, self._answer_of(stream, other, shows=shows)
            except (ModelDown, ModelRejected) as error:
                logger.warning("fallback failed", extra={"model": name, "why": str(error)})
        own = request.model_copy(update={"model": last})
        return last, self._answer_of(stream, own, shows=shows)

    def _answer_of(
        self, stream: AnswerStream | None, request: ModelRequest, *, shows: bool
    ) -> ModelAnswer:
        """Ask a model, and stream its answer to people who are listening.

        Args:
            shows: Whether the trace contains the prompt and the answer.

        Raises:
            ModelDown: The model is out of reach.
        """
        try:
            with span("model", model=request.model):
                if stream is None:
                    answer = self.model.complete(request)
                else:
                    stream.retract()
                    answer = self.model.stream(request, stream.show)
                describe(
                    answered_by=answer.model, fault=answer.fault or "", **answer.usage.counts()
                )
                if shows:
                    describe(**content_of(request, answer))
                return answer
        except Transient as error:
            raise ModelDown(error) from error

    def recording_of(
        self,
        activation: StreamedActivation,
        step: Step,
        reading: Reading,
        prompt: PromptRecord | None,
        marks: Sequence[AnswerMark] = (),
    ) -> Recording:
        """Return the recording of a step.

        Args:
            activation: The state of the activation.
            reading: The data from which the prompt was built.
            prompt: The prompt for the activation's first step; None for later steps.
            marks: The marks that the run gets for the answer.
        """
        if prompt is None:
            return recording(activation.claim, step, shown=None, marks=marks)
        run, chat, threads = activation.run, reading.chat, reading.of(Threads)
        thread, borrowed = threads.active, reading.of(BorrowedItems).context
        seq, now = reading.of(History).shown_seq, self.clock.now()
        told = entries_by_rule(reading, prompt)
        if "core_memories_over_budget" in prompt.marks:
            self.metrics.count("CoreMemoriesOverBudget")
        return recording(
            activation.claim,
            with_prompt(step, prompt),
            shown=ShownHistory(chat_id=chat.id, seq=seq) if chat else None,
            held=held_by(reading, activation.run),
            sharing=told_by_rules(reading),
            borrowed=borrowed.shown if borrowed is not None else None,
            marks=(*prompt.marks, *marks),
            thread_id=thread.id if thread else None,
            agent_version=reading.agent.version,
            also=[
                *(
                    [run_link(thread, run.id, run.activation, reading.audience, self.clock)]
                    if thread and threads.here
                    else []
                ),
                *(disclosure_records(run, chat.id, told, now) if chat and told else ()),
            ],
        )

    def count_fault(self, step: Step) -> None:
        """Count an unusable answer in the metrics, after it is recorded."""
        if step.fault is None or step.tool_calls:
            return
        if step.follow_up is not None:
            self.metrics.count("AnswersRetried", reason=step.fault)
        elif step.fault == "unspoken":
            self.metrics.count("UnspokenTexts")
        else:
            self.metrics.count("AnswersFailed", reason=step.fault)

    def count_filtered(self) -> None:
        """Count a request that the provider's content filter refused."""
        self.metrics.count("AnswersFailed", reason="filtered")


def is_public(reading: Reading) -> bool:
    """Return whether a prompt has only open content, none of which a sharing rule disclosed."""
    chat = reading.chat
    public = chat is None or chat.visibility == "open"
    return public and reading.audience.open and told_by_rules(reading) is None


def new_texts(reading: Reading, prompt: PromptRecord, earlier: Sequence[Step]) -> list[str]:
    """Return the texts that the model has not seen yet: the results of the last step's calls.

    Before the first step, these are the messages after the agent's own last message, and the
    section TRIGGER.
    """
    if earlier:
        return [result.content for result in earlier[-1].results or ()]
    said: list[str] = []
    for message in reading.of(History).messages if reading.chat is not None else ():
        own = message.sender.kind == "agent" and message.sender.id == reading.agent.id
        said = [] if own else [*said, message.full_text]
    return [*said, *(part.text for part in prompt.sections if part.name == TRIGGER)]


def _failure(run: Run, model: str) -> ModelFailure:
    """Return a record that the agent's own model failed, with the error that deferred the run."""
    return ModelFailure(model=model, error=run.error or "")


def content_of(request: ModelRequest, answer: ModelAnswer) -> dict[str, str]:
    """Return the texts of a request and its answer for a trace, as JSON."""
    said = [{"role": one.role, "content": one.content} for one in request.messages]
    calls = [{"name": call.name, "arguments": call.arguments} for call in answer.tool_calls]
    answered = {"role": "assistant", "content": answer.text, "tool_calls": calls}
    return {"asked": json.dumps(said), "said": json.dumps([answered])}


def gaps_of(reading: Reading) -> tuple[float, ...]:
    """Return the seconds between people's newest messages in the chat; at most `MOST_GAPS` gaps."""
    if reading.chat is None:
        return ()
    messages = reading.of(History).messages
    times = sorted(one.created_at for one in messages if one.sender.kind == "user")[
        -MOST_GAPS - 1 :
    ]
    return tuple((later - earlier).total_seconds() for earlier, later in pairwise(times))


def cache_key(run: Run, reading: Reading) -> str:
    """Return the cache key of an agent's prompts in a chat, a hash that hides the ids of both."""
    chat_id = reading.chat.id if reading.chat is not None else ""
    return sha256(f"{run.tenant}#{run.agent_id}#{chat_id}".encode()).hexdigest()[:32]


def _fit_to_record(answer: ModelAnswer, n: int, taken: Collection[str]) -> ModelAnswer:
    """Return the answer of step `n`, cut to what its item can store.

    Args:
        taken: The ids of earlier calls.
    """
    text, fault, calls = answer.text, answer.fault, answer.tool_calls
    if calls:
        text = recordable_text(text)
        left = MAX_ANSWER_BYTES - len(text.encode())
        calls = recordable_calls(calls, n=n, bytes_left=left, taken=taken)
    elif len(text) > MAX_ANSWER_TEXT:
        text, fault = cut_text(text, MAX_ANSWER_TEXT), fault or "cut_off"
    return answer.model_copy(update={"text": text, "fault": fault, "tool_calls": calls})


def _messages(prompt: PromptRecord, earlier: Sequence[Step]) -> tuple[ModelMessage, ...]:
    """Return the messages of a prompt, followed by those of the earlier steps."""
    return (*prompt.messages(), *(sent for step in earlier for sent in step.messages()))


def entries_by_rule(reading: Reading, prompt: PromptRecord) -> list[RecalledEntry]:
    """Return the recalled entries that a prompt shows because of sharing rules."""
    shown = {
        (entry.id or entry.chat_id, entry.to_seq) for entry in prompt.entries if entry.rule_ids
    }
    entries = reading.of(RecalledMessages).entries
    return [one for one in entries if one.ref in shown]


def open_stream(streams: AnswerStreams, activation: StreamedActivation, reading: Reading) -> None:
    """Open the stream of an activation's answer, if the answer is text and someone is listening."""
    if activation.stream is not None:
        activation.stream.close()
        activation.stream = None
    if not reading.listeners or not speaks_in_text(reading):
        return
    names = speakers_in(reading)
    activation.stream = streams.open(
        activation.claim,
        reading.destination,
        reading.listeners,
        start_of=lambda text: _shown_start(spoken_start(text, names), reading),
        sharing=told_by_rules(reading),
    )


def _shown_start(text: str, reading: Reading) -> str:
    return shown_start(text) if reading.cites else text


NO_PROMPT = PromptRecord(sections=(), total_tokens=0, marks=("answered_without_model",))


class FixedAnswer(NamedTuple):
    """The fixed answer to a reset, or to a request to keep a conversation private.

    Attributes:
        shown: The chat and the `seq` of the message to answer.
        prompt: The name of the answer's file in `prompts/`.
    """

    shown: ShownHistory
    prompt: str


def fixed_answer(run: Run, reading: Reading) -> FixedAnswer | None:
    """Return the fixed answer to the message that a run answers; None if the model answers it."""
    if reading.chat is None or reading.chat.id != run.chat_id:
        return None
    seq = current_seq(run, reading.chat)
    asked = next((one for one in reading.of(History).messages if one.seq == seq), None)
    if seq is None or asked is None or not (asked.resets or asked.keeps):
        return None
    shown, talk = ShownHistory(chat_id=reading.chat.id, seq=seq), reading.chat.sharing
    late = talk is not None and talk.talk_from == seq
    kept = "talk_kept_late" if late else "talk_kept"
    return FixedAnswer(shown, "session_reset" if asked.resets else kept)


def reaches_nobody(run: Run, reading: Reading) -> bool:
    """Return whether the answer of a run would reach no one, because its person has opted out.

    Two kinds of runs still have readers for their answers: a run that was triggered manually, and a
    run that belongs to another chat and has asked a question in this one.
    """
    if not reading.opted_out or run.trigger.type == "manual":
        return False
    return reading.chat is not None and run.own_chat_id == reading.chat.id


def fixed_step(run: Run, prompt: str, now: datetime) -> Step:
    """Return a fixed answer as a step.

    Args:
        prompt: The name of the answer's file in `prompts/`.
    """
    return Step(
        tenant=run.tenant,
        run_id=run.id,
        n=run.steps_taken + 1,
        activation=run.activation,
        model=FIXED_ANSWER,
        text=render(prompt),
        usage=TokenUsage(),
        started_at=now,
        ended_at=now,
    )


def recording_without_prompt(
    claim: Claim, step: Step, reading: Reading, shown: ShownHistory
) -> Recording:
    """Return the recording of the first step of an activation that gets a fixed answer."""
    held, told = held_by(reading, claim.run), told_by_rules(reading)
    first = with_prompt(step, NO_PROMPT)
    marks = NO_PROMPT.marks
    return recording(claim, first, shown=shown, held=held, sharing=told, marks=marks)


def ended_in(step: Step) -> bool:
    """Return whether a step has called `end_run` successfully."""
    done = [result.name for result in step.results or () if result.status == "done"]
    return end_run.name in done


def with_prompt(step: Step, prompt: PromptRecord) -> Step:
    """Return the first step of an activation, with its prompt in packed form."""
    return step.model_copy(update={"prompt": prompt.packed(step.prompt_bytes_left)})


def recorded_prompt(steps: Sequence[Step]) -> PromptRecord | None:
    """Return the prompt that an earlier attempt recorded for this activation, if any."""
    if not steps or steps[0].prompt is None:
        return None
    return PromptRecord.unpacked(steps[0].prompt)
