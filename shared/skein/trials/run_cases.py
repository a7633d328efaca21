"""Play the case of a run: its recorded prompt, rendered for one version of the agent.

No tools are called. A call gets the result that the run has recorded for an equal call, or else a
fitting result of the case. If there is neither, the play ends at this call.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from skein.agent.replay import ReplayedPrompt, Replays
from skein.agent.spoken_text import spoken
from skein.agent.tools import TOOLS
from skein.errors import Unprocessable
from skein.interface.citations import cited
from skein.models.config.overrides import Overrides
from skein.models.directory.agent import Agent
from skein.models.runs.completion import ModelAnswer, TokenUsage
from skein.models.runs.run import Run
from skein.models.runs.step import FIXED_ANSWER, Step, ToolResult
from skein.ports import Clock
from skein.services.runs.policy import MAX_STEPS
from skein.trials.models.case import Case, RecordedResults
from skein.trials.models.expectation import Played, PlayedCall, PlayedQuestion
from skein.trials.plays import Play, arguments_of, calls_of

SEND, ASK, DESK, END = "send_message", "ask_choice", "ask_a_person", "end_run"
SECTION_FIELDS = ("reply_mode", "history_format", "outsiders", "profile_fields", "time_zone")
# Settings that change no section of a prompt, so that a recorded prompt stays comparable.
OTHER_SETTINGS = frozenset(
    {"allowed_fallbacks", "fallback_seconds", "guardrail", "reserved_response_tokens", "streaming"}
)


def comparable(case: Case, baseline: Agent, candidate: Agent) -> bool:
    """Return whether a case can compare two versions of an agent.

    The sections of a recorded prompt can't be rendered again. So a case of a run can't compare
    versions whose prompts would have different sections.
    """
    if case.run_id is None:
        return True
    sides = [
        {name: value for name, value in each.settings.items() if name not in OTHER_SETTINGS}
        for each in (baseline, candidate)
    ]
    same = all(getattr(baseline, name) == getattr(candidate, name) for name in SECTION_FIELDS)
    return same and sides[0] == sides[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCases:
    """The service that plays the cases of runs."""

    replays: Replays
    clock: Clock

    def play(self, case: Case, agent: Agent, overrides: Overrides, *, until: datetime) -> Play:
        """Play a case.

        Args:
            agent: The agent in the version to play.
            overrides: The tenant's settings.
            until: When the play must have ended.

        Raises:
            NotFound: The run, its chat or its agent no longer exists.
            Conflict: The prompt of the run was erased.
            TimeoutError: The play took longer than until `until`.
            Transient: The model or the table can't be reached.
        """
        recorded = self.replays.recorded(case.tenant, case.run_id or "")
        sent = self.replays.rendered(recorded, agent, overrides)
        known = [each for each in calls_of(recorded.steps) if each.result is not None]
        sources = RecordedResults([*known]), RecordedResults([*case.results])
        steps: list[Step] = []
        unrecorded: PlayedCall | None = None
        while len(steps) < MAX_STEPS and unrecorded is None:
            if self.clock.now() >= until:
                raise TimeoutError
            step = self._asked(recorded.run, sent, steps, until)
            results, unrecorded = _results(step, sources)
            steps.append(step.model_copy(update={"results": results}))
            if not step.tool_calls or any(call.name == END for call in step.tool_calls):
                break
        return Play.of(_played(sent, steps, unrecorded), steps)

    def _asked(self, run: Run, sent: ReplayedPrompt, steps: list[Step], until: datetime) -> Step:
        began, n = self.clock.now(), len(steps) + 1
        try:
            answer = self.replays.step(sent, steps, seconds=(until - began).total_seconds())
        except Unprocessable:  # the provider or the guardrail refuses: the agent says nothing
            answer = ModelAnswer(model=FIXED_ANSWER, text="", usage=TokenUsage())
        return Step(
            tenant=run.tenant,
            run_id=run.id,
            n=n,
            model=answer.model,
            text=answer.text,
            tool_calls=answer.tool_calls,
            usage=answer.usage,
            started_at=began,
            ended_at=self.clock.now(),
        )


def _results(
    step: Step, sources: Iterable[RecordedResults]
) -> tuple[tuple[ToolResult, ...], PlayedCall | None]:
    """Return the results of a step's calls, and the first call that has no recorded result."""
    results: list[ToolResult] = []
    for call in step.tool_calls:
        arguments = arguments_of(call.arguments)
        taken = (each.take(call.name, arguments) for each in sources)
        found = next((each for each in taken if each is not None), None)
        if found is None and call.name != END:
            return tuple(results), PlayedCall(call.name, arguments)
        status, content = found.answer if found is not None else ("done", "done")
        results.append(ToolResult(call_id=call.id, name=call.name, status=status, content=content))
    return tuple(results), None


def _played(sent: ReplayedPrompt, steps: list[Step], unrecorded: PlayedCall | None) -> Played:
    """Return what the agent said and did in a play: what it would have posted and asked."""
    calls, shown = calls_of(steps), sent.prompt.cited
    texts = [cited(each, shown) for each in _texts(sent, steps)]
    asked = [
        each.arguments for each in calls if each.tool == ASK and isinstance(each.arguments, dict)
    ]
    return Played(
        texts=tuple(each.text for each in texts if each.text),
        questions=tuple(
            PlayedQuestion(str(each.get("question", "")), tuple(each.get("options") or ()))
            for each in asked
        ),
        asked_person=any(each.tool == DESK for each in calls),
        cited=tuple(dict.fromkeys(one.source_id for each in texts for one in each.sources)),
        unrecorded=unrecorded,
    )


def _texts(sent: ReplayedPrompt, steps: list[Step]) -> Iterator[str]:
    """Yield the texts that a play would have posted, in order."""
    for step in steps:
        for call in calls_of([step]):
            if call.tool == SEND and isinstance(call.arguments, dict):
                yield str(call.arguments.get("text", ""))
        saves = all(
            call.name in TOOLS and TOOLS[call.name].effect == "save" for call in step.tool_calls
        )
        if sent.in_text and saves:
            yield spoken(step.text, sent.names)
