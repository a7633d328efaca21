"""Play trials in the background: each job plays one case once, for one of the two versions."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from skein.errors import ConditionFailed, Conflict, ModelRejected, NotFound, Rejected, Transient
from skein.models.common.storage import Check, Missing, Present, Put, Write
from skein.models.directory.agent import Agent
from skein.models.outbox.jobs import TrialJob
from skein.models.quotas.usage import Payer
from skein.models.runs.run import Run
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.money import usage_of
from skein.services.quotas.rate_limits import OverLimit
from skein.services.quotas.usage import UsageCounters
from skein.trials.judging import Judge
from skein.trials.models.case import Case
from skein.trials.models.expectation import missing_of
from skein.trials.models.trial import MAX_JOBS, PlayedCase, PlayResult, TakenUnit, Trial, Unit
from skein.trials.plays import Play
from skein.trials.run_cases import RunCases, comparable
from skein.trials.trials import Trials
from skein.trials.tried import played_cases
from skein.trials.verdicts import Verdict
from skein.trials.worlds import Worlds

LONGEST_PLAY = timedelta(minutes=14)
MARGIN = timedelta(seconds=60)  # after a play, for a judge and the writes
LONGEST_TRIAL = timedelta(days=1)
TAKES_TOO_LONG = "it was not over after a day"
SPENT = "its max_tokens are spent"
AGENT_GONE = "the agent was deleted"
PAYER = "trial"  # trials are counted apart from the agent, and never for a person

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialWorker:
    """Worker that plays the cases of trials."""

    table: Table
    clock: Clock
    dispatch: Dispatch
    trials: Trials
    run_cases: RunCases
    worlds: Worlds
    judge: Judge
    usage: UsageCounters

    def take(self, job: TrialJob, *, deadline: datetime) -> None:
        """Play one case of a trial once, if any play is left (idempotent).

        Raises:
            Transient: The table can't be reached; the job is retried.
        """
        trial = Trial.read(self.table, Trial.key_of(job.tenant, job.agent_id, job.trial_id))
        if trial is None or trial.state != "running":
            return
        agent = Agent.read(self.table, Agent.key_of(trial.tenant, trial.agent_id))
        gone = agent is None or agent.deleted_at is not None
        late = self.clock.now() - trial.created_at > LONGEST_TRIAL
        if agent is None or gone or late:
            why = AGENT_GONE if gone else TAKES_TOO_LONG
            optimistic(self.clock, lambda: self.trials.end(trial, why))
            return
        taken = optimistic(self.clock, lambda: self._taken(trial, deadline))
        if taken is None:
            return
        until = min(deadline - MARGIN, self.clock.now() + LONGEST_PLAY)
        try:
            self._play(trial, taken.unit, agent, until)
        except (OverLimit, Transient) as error:  # the tick tries again, for a day
            about = {"trial_id": trial.id, "why": type(error).__name__}
            logger.warning("a trial waits", extra=about)
            return
        finally:
            jobs = optimistic(self.clock, lambda: self._given_back(trial, taken))
        self.dispatch.send([trial.job] * jobs)

    def _taken(self, trial: Trial, deadline: datetime) -> TakenUnit | None:
        """Take a play that no worker has taken; None if there is none.

        If all plays are done, end the trial.

        Raises:
            ConditionFailed: The stored trials have changed in the meantime.
        """
        head, cases = self.trials.head(trial.tenant), played_cases(self.table, trial)
        busy, left = head.busy(self.clock.now()), _left(trial, cases)
        if not left:
            over = all(each.verdict for each in cases)
            self.trials.end(trial, None if over else SPENT)
            return None
        units = {each.unit for each in busy}
        free = next((each for each in left if each not in units), None)
        if free is None or len(busy) >= MAX_JOBS or trial.id not in head.running:
            return None
        taken = TakenUnit(unit=free, until=deadline + MARGIN)
        self.table.write(revise(head, {"taken": (*busy, taken)})[1])
        return taken

    def _given_back(self, trial: Trial, taken: TakenUnit) -> int:
        """Record that a play is no longer taken; return how many jobs to send.

        At least one job is sent, which ends the trial if nothing is left to play.

        Raises:
            ConditionFailed: The stored trials have changed in the meantime.
        """
        head = self.trials.head(trial.tenant)
        busy = tuple(each for each in head.busy(self.clock.now()) if each != taken)
        self.table.write(revise(head, {"taken": busy})[1])
        left = set(_left(trial, played_cases(self.table, trial)))
        free = left - {each.unit for each in busy}
        return min(len(free), MAX_JOBS - len(busy)) or 1

    def _play(self, trial: Trial, unit: Unit, agent: Agent, until: datetime) -> None:
        case = Case.read(self.table, Case.key_of(trial.tenant, trial.agent_id, unit.case_id))
        sides = trial.sides(agent)
        if case is None or not comparable(case, **sides):
            self._settle(trial, unit, "gone" if case is None else "not_comparable")
            return
        overrides, own = self.trials.overrides(trial.tenant), sides[unit.side]
        budget, began = self.trials.budget(agent, overrides), self.clock.now()
        budget.check()
        try:
            if case.script is not None:
                play = self.worlds.play(case.script, case.results, own, until=until)
            else:
                play = self.run_cases.play(case, own, overrides, until=until)
            judged, asked = self.judge.judged(case.expect, play.played)
        except (TimeoutError, Rejected, ModelRejected) as error:
            # The error's text may quote the prompt.
            why = {"trial_id": trial.id, "case_id": case.id, "why": type(error).__name__}
            logger.warning("failed to play a case", extra=why)
            gone = case.run_id is not None and isinstance(error, NotFound | Conflict)
            self._settle(trial, unit, "gone" if gone else "broken")
            return
        play = replace(
            play, played=replace(play.played, judged=judged), answers=(*play.answers, *asked)
        )
        for model, tokens in play.answers:
            self.usage.add(
                trial.tenant,
                tokens,
                spread_by=trial.id,
                model=model,
                payer=Payer(PAYER),
                budget=budget,
            )
        seconds = (self.clock.now() - began).total_seconds()
        self._keep(trial, unit, case, _result(trial, unit, case, play, seconds))

    def _keep(self, trial: Trial, unit: Unit, case: Case, result: PlayResult) -> None:
        """Store the result of a play, unless it was stored before or the run's prompt is gone."""
        checks: list[Write] = []
        if case.prompt_keys is not None:
            run_key, step_key = case.prompt_keys
            run = Run.read(self.table, run_key)
            if run is not None and run.expires_at:
                expires_at = min(result.expires_at, run.expires_at)
                result = result.model_copy(update={"expires_at": expires_at})
            checks = [Check(step_key, Present("prompt"))]

        def attempt() -> bool:
            before = self._case(trial, unit)
            marked = before.marked(unit, result.mark, result.usage, trial.repeats)
            put = Put(before.key_of_result(unit), result.attributes(), Missing())
            try:
                self.table.transact([put, revise(before, marked)[1], *checks])
            except ConditionFailed as failure:
                if failure.failed & {0, 2}:
                    return 0 in failure.failed
                raise
            return True

        if not optimistic(self.clock, attempt):
            self._settle(trial, unit, "gone")

    def _case(self, trial: Trial, unit: Unit) -> PlayedCase:
        key = PlayedCase.key_of(trial.tenant, trial.agent_id, trial.id, unit.case_id)
        return PlayedCase.must_read({key: self.table.get(key) or {}}, key)

    def _settle(self, trial: Trial, unit: Unit, verdict: Verdict) -> None:
        """Store the verdict of a case that cannot be played."""

        def attempt() -> None:
            before = self._case(trial, unit)
            if before.verdict is None:
                self.table.write(revise(before, {"verdict": verdict})[1])

        optimistic(self.clock, attempt)


def _left(trial: Trial, cases: Sequence[PlayedCase]) -> list[Unit]:
    """Return the plays that the verdicts of a trial still need, unless its tokens are spent."""
    if sum(each.tokens for each in cases) >= trial.max_tokens:
        return []
    return [unit for each in cases for unit in each.left(trial.repeats)]


def _result(trial: Trial, unit: Unit, case: Case, play: Play, seconds: float) -> PlayResult:
    """Return the result of a play, with the expectations that it does not meet."""
    played = play.played
    missing = [
        (each.judge is None, why)
        for each, why in zip(case.expect, missing_of(case.expect, played), strict=True)
        if why is not None
    ]
    sure = any(by_code for by_code, _ in missing)
    return PlayResult(
        tenant=trial.tenant,
        agent_id=trial.agent_id,
        **unit.model_dump(),
        mark="failed" if sure else "judged" if missing else "passed",
        missing=tuple(why for _, why in missing),
        texts=played.texts,
        calls=tuple(map(str, played.calls)),
        questions=tuple(map(str, played.questions)),
        unrecorded=str(played.unrecorded) if played.unrecorded is not None else None,
        effects=play.effects,
        usage=usage_of(play.answers).models,
        seconds=seconds,
        expires_at=trial.expires_at,
    )
