"""Start, read and stop trials of agents."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from skein.errors import Conflict, NotFound, Unprocessable
from skein.models.common.storage import MAX_TRANSACTION_ITEMS, Missing, Put
from skein.models.config.overrides import Overrides, TenantOnlySettings, TenantSettings
from skein.models.directory.agent import Agent, AgentVersion
from skein.models.outbox.due import NOT_DUE
from skein.models.quotas.usage import ModelUsage, Usage
from skein.models.runs.run import Run, run_id_in
from skein.models.runs.trigger import Trigger
from skein.ports import Clock, Ids, ModelTokens, Table
from skein.services.common.optimistic import optimistic, revise
from skein.services.common.pagination import DEFAULT_PAGE, Listing, items_under, list_partition
from skein.services.directory.agents import Agents
from skein.services.outbox.dispatch import OUTBOX_GRACE, Dispatch
from skein.services.quotas.token_budget import (
    TokenBudget,
    TokenBudgets,
    found_allowances,
    payer_keys,
)
from skein.settings import Settings
from skein.trials.models.case import CaseView
from skein.trials.models.trial import (
    MAX_JOBS,
    SIDES,
    PlayedCase,
    PlayResult,
    Trial,
    TrialHead,
    TrialView,
    digest_of,
    trials_partition,
)
from skein.trials.records import CaseOwner, Cases
from skein.trials.tried import played_cases

if TYPE_CHECKING:
    from skein.trials.api import NewTrial

KEPT_DAYS = 90
MAX_TRIALS = 3  # of a tenant at once
ANSWER_TOKENS = 300  # of one answer, as far as plans go
FRAME_TOKENS = 1_500  # of a prompt without its system prompt, likewise


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """The service of the trials of agents."""

    table: Table
    clock: Clock
    ids: Ids
    agents: Agents
    cases: Cases
    dispatch: Dispatch
    token_budgets: TokenBudgets
    tokens: ModelTokens
    settings: Settings

    def start(self, owner: CaseOwner, new: "NewTrial") -> TrialView:
        """Start a trial. It is played in the background.

        Raises:
            NotFound: The agent, a version or a case does not exist.
            Forbidden: A named case is private, and the operator may not see private content.
            Conflict: The trial would use too many tokens, or too many trials are running.
            Unprocessable: There is no case to play.
        """
        agent = self.agents.get(owner.tenant, owner.agent_id)
        baseline = self._version(agent, new.baseline)
        candidate, changes = self._version(agent, new.candidate.version), new.candidate.changes
        if changes is not None:
            candidate = agent.with_fields(changes.values_for(agent))
        views = self._chosen(owner, new.cases)
        planned = self._planned(views, [baseline, candidate], new.repeats)
        self._check_budget(agent, planned.of_all_models.tokens, new.max_tokens)
        now = self.clock.now()
        trial = Trial(
            tenant=owner.tenant,
            agent_id=agent.id,
            id=f"trl_{self.ids.ulid()}",
            baseline=AgentVersion.of(baseline),
            candidate=AgentVersion.of(candidate),
            digest=digest_of(candidate),
            baseline_version=baseline.version,
            repeats=new.repeats,
            planned_calls=planned.of_all_models.calls,
            planned_tokens=planned.of_all_models.tokens,
            max_tokens=new.max_tokens,
            planned=planned.models,
            created_at=now,
            created_by=owner.by,
            expires_at=int((now + timedelta(days=KEPT_DAYS)).timestamp()),
        )
        put = Put(trial.key, trial.to_item(now + OUTBOX_GRACE), Missing())
        of_trial = {"trial_id": trial.id, "version": 1, "expires_at": trial.expires_at}
        cases = [
            PlayedCase(**dict(each.case) | of_trial, case_version=each.case.version)
            for each in views
        ]

        def attempt() -> None:
            head = self.head(owner.tenant)
            if len(head.running) >= MAX_TRIALS:
                raise Conflict(f"{MAX_TRIALS} trials of the tenant are running")
            self.table.transact([put, revise(head, {"running": (*head.running, trial.id)})[1]])

        for start in range(0, len(cases), MAX_TRANSACTION_ITEMS):
            part = cases[start : start + MAX_TRANSACTION_ITEMS]
            self.table.transact([Put(each.key, each.attributes()) for each in part])
        optimistic(self.clock, attempt)
        self.dispatch.send([trial.job] * min(MAX_JOBS, len(cases) * len(SIDES)))
        return self.view(trial)

    def head(self, tenant: str) -> TrialHead:
        """Return the running trials of a tenant; their record is created at the first one.

        Raises:
            ConditionFailed: Another caller has just created the record.
        """
        head = TrialHead.read(self.table, TrialHead.key_of(tenant))
        if head is None:
            head = TrialHead(tenant=tenant)
            self.table.write(Put(head.key, head.attributes(), Missing()))
        return head

    def get(self, owner: CaseOwner, trial_id: str) -> TrialView:
        """Return a trial.

        Raises:
            NotFound: The trial does not exist.
        """
        return self.view(self._trial(owner, trial_id))

    def list(
        self, owner: CaseOwner, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Trial]:
        """List a page of an agent's trials, newest first.

        Raises:
            Invalid: The cursor does not belong to this list.
        """
        return list_partition(
            self.table,
            trials_partition(owner.tenant, owner.agent_id),
            (Trial.PREFIX,),
            Trial.from_item,
            limit=limit,
            cursor=cursor,
            newest_first=True,
        )

    def results(
        self, owner: CaseOwner, trial_id: str, case_id: str
    ) -> tuple[Sequence[PlayResult], Run | None]:
        """Return the results of a case's plays, the baseline's first, and the run of the case.

        Raises:
            NotFound: The trial does not exist, or does not have the case.
            Forbidden: The case is private, and the operator may not see private content, or the
                tenant forbids operators to read chats.
        """
        self._trial(owner, trial_id)
        key = PlayedCase.key_of(owner.tenant, owner.agent_id, trial_id, case_id)
        case = PlayedCase.read(self.table, key)
        if case is None:
            raise NotFound("case not found")
        owner.check(private=case.private)
        run = None
        if case.run_id is not None:
            self.cases.tenant_settings.check_reading(owner.tenant)
            run = Run.read(self.table, Run.key_of(owner.tenant, case.run_id))
        return list(PlayResult.each_of(items_under(self.table, *case.results))), run

    def stop(self, owner: CaseOwner, trial_id: str) -> None:
        """Stop a trial (idempotent). Plays that have begun are finished; no further play begins.

        Raises:
            NotFound: The trial does not exist.
        """
        trial = self._trial(owner, trial_id)
        optimistic(self.clock, lambda: self.end(trial, "an operator stopped it"))

    def end(self, trial: Trial, why: str | None = None) -> None:
        """End a running trial.

        Args:
            why: Why the trial ends before all cases have a verdict; None if all have one.

        Raises:
            ConditionFailed: The stored trials have changed in the meantime.
        """
        known = Trial.read(self.table, trial.key)
        if known is None or known.state != "running":
            return
        state = "ended" if why is None else "stopped"
        change = {"state": state, "why": why, "ended_at": self.clock.now()}
        head = self.head(trial.tenant)
        left = tuple(each for each in head.running if each != trial.id)
        ended, freed = revise(known, change, also=NOT_DUE)[1], revise(head, {"running": left})[1]
        self.table.transact([ended, freed])

    def view(self, trial: Trial) -> TrialView:
        """Return a trial, with the results of its cases so far."""
        cases = played_cases(self.table, trial)
        prices = TenantOnlySettings.model_validate(self.overrides(trial.tenant)).prices
        if prices is None:
            return TrialView(trial, cases, None, None)
        usage = sum((Usage(models=each.usage) for each in cases), Usage())
        planned = Usage(models=trial.planned)
        return TrialView(trial, cases, prices.money(usage), prices.money(planned))

    def budget(self, agent: Agent, overrides: Overrides) -> TokenBudget:
        """Return the token budget that an agent's trials are charged to: the tenant's."""
        run = Run(
            tenant=agent.tenant,
            id=run_id_in(agent.id, "TRIAL"),
            agent_id=agent.id,
            trigger=Trigger(type="manual"),
            created_at=self.clock.now(),
        )
        found = found_allowances(run, self.table.get_many(payer_keys(run)))
        return self.token_budgets.budget(run, found, self.settings.overridden(overrides))

    def overrides(self, tenant: str) -> Overrides:
        """Return the tenant's settings."""
        return TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))

    def _trial(self, owner: CaseOwner, trial_id: str) -> Trial:
        trial = Trial.read(self.table, Trial.key_of(owner.tenant, owner.agent_id, trial_id))
        if trial is None:
            raise NotFound("trial not found")
        return trial

    def _version(self, agent: Agent, version: int | None) -> Agent:
        """Return an agent with the fields of one of its versions."""
        if version is None:
            return agent
        found = self.agents.version(agent, version)
        return agent.with_fields({**found.configured, "version": version})

    def _chosen(self, owner: CaseOwner, named: Sequence[str] | None) -> Sequence[CaseView]:
        """Return the cases to play.

        They are the named cases or, if none are named, all cases that the operator may see and that
        are not gone.
        """
        known = self.cases.all(owner)
        if named is None:
            chosen = [each for each in known if not each.withheld and not each.gone]
        else:
            chosen = [each for each in known if each.case.id in named]
            if len(chosen) < len(set(named)):
                raise NotFound("case not found")
            owner.check(private=any(each.case.private for each in chosen))
        if not chosen:
            raise Unprocessable("cases: there is no case to play")
        return chosen

    def _planned(self, views: Sequence[CaseView], sides: Sequence[Agent], repeats: int) -> Usage:
        """Return an estimate of the usage of the first plays."""
        planned = Usage()
        for side in sides:
            own = self.tokens.count(side.system_prompt) + FRAME_TOKENS
            for view in views:
                turns = len(view.case.script.turns) if view.case.script is not None else 1
                prompt = view.prompt.total_tokens if view.prompt is not None else own
                calls = turns * repeats
                used = ModelUsage(
                    calls=calls,
                    input_tokens=calls * prompt,
                    output_tokens=calls * ANSWER_TOKENS,
                )
                model = side.model or self.settings.default_model
                planned += Usage(models={model: used})
        return planned

    def _check_budget(self, agent: Agent, tokens: int, most: int) -> None:
        """Check that the planned tokens fit into the limits.

        Raises:
            Conflict: The planned tokens exceed a limit.
        """
        if tokens > most:
            raise Conflict(f"the trial takes about {tokens:,} tokens; max_tokens is {most:,}")
        now = self.clock.now()
        for bucket in self.budget(agent, self.overrides(agent.tenant)).buckets:
            rate = bucket.rates.tokens
            left = rate.size - rate.used(bucket.allowance.tokens_full_at, now)
            if rate.limited and tokens > left:
                raise Conflict(f"the trial takes about {tokens:,} tokens; {int(left):,} are left")
