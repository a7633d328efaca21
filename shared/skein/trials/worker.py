"""Play trials in the background: each job plays one case once, for one of the two versions."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from skein.errors import ConditionFailed, Conflict, ModelRejected, NotFound, Rejected, Transient
from skein.models.common.storage import Check, Is, Missing, Present, Put, Write
from skein.models.config.overrides import TenantSettings
from skein.models.directory.agent import Agent
from skein.models.outbox.jobs import TrialJob
from skein.models.quotas.usage import Payer
from skein.models.runs.run import Run
from skein.models.runs.step import Step
from skein.ports import Clock, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.outbox.dispatch import Dispatch
from skein.services.quotas.money import usage_of
from skein.services.quotas.rate_limits import OverLimit
from skein.services.quotas.usage import UsageCounters
from skein.trials.judging import Judge
from skein.trials.models.case import Case
from skein.trials.models.expectation import missing_of
from skein.trials.models.trial import (
    MAX_JOBS,
    SIDES,
    CaseRef,
    PlayedCase,
    PlayMark,
    PlayResult,
    TakenUnit,
    Trial,
    TrialHead,
    Unit,
    words_of,
)
from skein.trials.plays import Play
from skein.trials.run_cases import RunCases, comparable
from skein.trials.trials import Trials
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
        try:
            self._play(trial, taken.unit, agent, min(deadline - MARGIN, self._now + LONGEST_PLAY))
        except (OverLimit, Transient) as error:  # the tick tries again, for a day
            about = {"trial_id": trial.id, "why": type(error).__name__}
            logger.warning("a trial waits", extra=about)
            return
        finally:
            left = optimistic(self.clock, lambda: self._given_back(trial, taken))
        self.dispatch.send([trial.job] * left)

    @property
    def _now(self) -> datetime:
        return self.clock.now()

    def _taken(self, trial: Trial, deadline: datetime) -> TakenUnit | None:
        """Take a play that no worker has taken; None if there is none.

        If all plays are done, end the trial.

        Raises:
            ConditionFailed: The stored trials have changed in the meantime.
        """
        head = TrialHead.read(self.table, TrialHead.key_of(trial.tenant))
        if head is None or trial.id not in head.running:
            return None
        played, busy = self.trials.played(trial), head.busy(self._now)
        left = list(_left(trial, played))
        if not left:
            over = all(each.verdict for each in played.values())
            self.trials.end(trial, None if over else SPENT)
            return None
        units = {each.unit for each in busy}
        free = next((each for each in left if each not in units), None)
        if free is None or len(busy) >= MAX_JOBS:
            return None
        taken = TakenUnit(**free.model_dump(), until=deadline + MARGIN)
        self.table.write(revise(head, {"taken": (*busy, taken)})[1])
        return taken

    def _given_back(self, trial: Trial, taken: TakenUnit) -> int:
        """Record that a play is no longer taken; return how many jobs could start a play now.

        Raises:
            ConditionFailed: The stored trials have changed in the meantime.
        """
        head = TrialHead.read(self.table, TrialHead.key_of(trial.tenant))
        if head is None:
            return 0
        busy = tuple(each for each in head.busy(self._now) if each != taken)
        self.table.write(revise(head, {"taken": busy})[1])
        units = {each.unit for each in busy}
        left = list(_left(trial, self.trials.played(trial)))
        free = sum(each not in units for each in left)
        # If nothing is left, one more job ends the trial.
        return 1 if not left else min(free, MAX_JOBS - len(busy))

    def _play(self, trial: Trial, unit: Unit, agent: Agent, until: datetime) -> None:
        [ref] = [each for each in trial.cases if each.id == unit.case_id]
        case = Case.read(self.table, Case.key_of(trial.tenant, trial.agent_id, ref.id))
        versions = {side: agent.with_fields(trial.version_of(side).configured) for side in SIDES}
        if case is None:
            self._settle(trial, ref, "gone")
            return
        if not comparable(case, versions["baseline"], versions["candidate"]):
            self._settle(trial, ref, "not_comparable")
            return
        found = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(trial.tenant)))
        budget, began = self.trials.budget(agent, found), self._now
        budget.check()
        own = versions[unit.side]
        try:
            if case.run_id is not None:
                play = self.run_cases.play(case, own, found, until=until)
            else:
                play = self.worlds.play(case, own, until=until)
            judged, answer = self.judge.judged(case.expect, play.played)
        except (NotFound, Conflict):
            self._settle(trial, ref, "gone" if case.run_id is not None else "broken")
            return
        except (TimeoutError, Rejected, ModelRejected) as error:
            # The error's text may quote the prompt.
            why = {"trial_id": trial.id, "case_id": ref.id, "why": type(error).__name__}
            logger.warning("failed to play a case", extra=why)
            self._settle(trial, ref, "broken")
            return
        answers = (*play.answers, *([(answer.model, answer.usage)] if answer is not None else []))
        for model, tokens in answers:
            self.usage.add(
                trial.tenant,
                tokens,
                spread_by=trial.id,
                model=model,
                payer=Payer(PAYER),
                budget=budget,
            )
        result = _result(trial, unit, case, play, judged)
        used = usage_of(answers).models
        took = (self._now - began).total_seconds()
        self._keep(trial, ref, case, result.model_copy(update={"usage": used, "seconds": took}))

    def _keep(self, trial: Trial, ref: CaseRef, case: Case, result: PlayResult) -> None:
        """Store the result of a play, unless it was stored before or the run's prompt is gone."""
        unit = Unit(trial_id=trial.id, case_id=ref.id, side=result.side, n=result.n)
        checks: list[Write] = []
        if case.run_id is not None:
            run = Run.read(self.table, Run.key_of(trial.tenant, case.run_id))
            ends = [result.expires_at, *([run.expires_at] if run and run.expires_at else [])]
            result = result.model_copy(update={"expires_at": min(ends)})
            step = Step.key_of(trial.tenant, case.run_id, case.step or 0)
            checks = [Check(step, Present("prompt"))]
        put = Put(PlayResult.key_in(trial, ref, unit), result.attributes(), Missing())

        def attempt() -> bool:
            before = self._before(trial, ref)
            after = before.marked(unit, result.mark, result.usage, trial.repeats)
            try:
                self.table.transact([put, _change(trial, before, after), *checks])
            except ConditionFailed as failure:
                if failure.failed & {0, 2}:
                    return 0 in failure.failed
                raise
            return True

        if not optimistic(self.clock, attempt):
            self._settle(trial, ref, "gone")

    def _before(self, trial: Trial, ref: CaseRef) -> PlayedCase:
        known = PlayedCase.read(self.table, PlayedCase.key_in(trial, ref.id))
        return known or PlayedCase.unplayed(trial, ref.id)

    def _settle(self, trial: Trial, ref: CaseRef, verdict: Verdict) -> None:
        """Store the verdict of a case that cannot be played."""

        def attempt() -> None:
            before = self._before(trial, ref)
            if before.verdict is None:
                after = before.model_copy(update={"verdict": verdict})
                self.table.write(_change(trial, before, after))

        optimistic(self.clock, attempt)


def _left(trial: Trial, played: Mapping[str, PlayedCase]) -> Iterator[Unit]:
    """Yield the plays that the verdicts of a trial still need."""
    if sum(each.tokens for each in played.values()) >= trial.max_tokens:
        return
    for ref in trial.cases:
        case = played[ref.id]
        if case.verdict is not None:
            continue
        for n in range(1, case.wanted(trial.repeats) + 1):
            for side in SIDES:
                if f"{side}#{n}" not in case.marks:
                    yield Unit(trial_id=trial.id, case_id=ref.id, side=side, n=n)


def _change(trial: Trial, before: PlayedCase, after: PlayedCase) -> Write:
    """Return the write of a changed case, which fails if the case has changed in the meantime."""
    stored = after.model_copy(update={"version": before.version + 1})
    key = PlayedCase.key_in(trial, before.case_id)
    condition = Is("version", before.version) if before.version else Missing()
    return Put(key, stored.attributes(), condition)


def _result(
    trial: Trial, unit: Unit, case: Case, play: Play, judged: Mapping[str, str | None]
) -> PlayResult:
    """Return the result of a play, with the expectations that it does not meet."""
    played = replace(play.played, judged=judged)
    found = zip(case.expect, missing_of(case.expect, played), strict=True)
    missing = [(each, why) for each, why in found if why is not None]
    sure = any(each.judge is None for each, _ in missing)
    mark: PlayMark = "failed" if sure else "judged" if missing else "passed"
    return PlayResult(
        tenant=trial.tenant,
        agent_id=trial.agent_id,
        **unit.model_dump(),
        mark=mark,
        missing=tuple(why for _, why in missing),
        effects=play.effects,
        usage={},
        seconds=0,
        expires_at=trial.expires_at,
        **words_of(played),
    )
