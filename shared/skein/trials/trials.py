"""Start, read and stop trials of agents."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from skein.errors import Conflict, Forbidden, NotFound, Unprocessable
from skein.models.common.storage import Missing, Put, Write
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
    KEPT_DAYS,
    MAX_JOBS,
    MAX_TRIALS,
    SIDES,
    CaseRef,
    PlayedCase,
    PlayResult,
    Trial,
    TrialHead,
    TrialView,
    digest_of,
    trials_partition,
)
from skein.trials.records import PRIVATE_CASE, CaseOwner, Cases
from skein.trials.tried import played_cases

if TYPE_CHECKING:
    from skein.trials.api import NewTrial

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
        candidate = self._candidate(agent, new)
        views = self._chosen(owner, new.cases)
        planned = self._planned(views, [baseline, candidate], new.repeats)
        tokens = planned.of_all_models.tokens
        overrides = self._overrides(owner.tenant)
        self._check_budget(owner.tenant, agent, overrides, tokens, new.max_tokens)
        now = self.clock.now()
        trial = Trial(
            tenant=owner.tenant,
            agent_id=agent.id,
            id=f"trl_{self.ids.ulid()}",
            baseline=AgentVersion.of(baseline).fields,
            candidate=AgentVersion.of(candidate).fields,
            baseline_version=baseline.version,
            digest=digest_of(candidate),
            cases=tuple(
                CaseRef(**{name: getattr(each.case, name) for name in CaseRef.model_fields})
                for each in views
            ),
            repeats=new.repeats,
            max_tokens=new.max_tokens,
            planned=planned.models,
            created_at=now,
            created_by=owner.by,
            expires_at=int((now + timedelta(days=KEPT_DAYS)).timestamp()),
        )

        def attempt() -> None:
            head = TrialHead.read(self.table, TrialHead.key_of(owner.tenant))
            if head is not None and len(head.running) >= MAX_TRIALS:
                raise Conflict(f"{MAX_TRIALS} trials of the tenant are running")
            put = Put(trial.key, trial.to_item(now + OUTBOX_GRACE), Missing())
            if head is None:
                first = TrialHead(tenant=owner.tenant, version=1, running=(trial.id,))
                self.table.transact([put, Put(first.key, first.attributes(), Missing())])
            else:
                running = (*head.running, trial.id)
                self.table.transact([put, revise(head, {"running": running})[1]])

        optimistic(self.clock, attempt)
        self.dispatch.send([trial.job] * min(MAX_JOBS, len(views) * len(SIDES)))
        return self.view(trial)

    def get(self, owner: CaseOwner, trial_id: str) -> TrialView:
        """Return a trial.

        Raises:
            NotFound: The agent or the trial does not exist.
        """
        self.agents.get(owner.tenant, owner.agent_id)
        return self.view(self._trial(owner, trial_id))

    def list(
        self, owner: CaseOwner, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Listing[Trial]:
        """List a page of an agent's trials, newest first.

        Raises:
            NotFound: The agent does not exist.
            Invalid: The cursor does not belong to this list.
        """
        self.agents.get(owner.tenant, owner.agent_id)
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
        self.agents.get(owner.tenant, owner.agent_id)
        trial = self._trial(owner, trial_id)
        ref = next((each for each in trial.cases if each.id == case_id), None)
        if ref is None:
            raise NotFound("case not found")
        if ref.private and not owner.private:
            raise Forbidden(PRIVATE_CASE)
        if ref.run_id is not None:
            self.cases.tenant_settings.check_reading(owner.tenant)
        beginning, now = PlayResult.prefix_in(trial, ref), self.clock.now().timestamp()
        found = PlayResult.each_of(items_under(self.table, beginning.pk, beginning.sk))
        key = Run.key_of(owner.tenant, ref.run_id) if ref.run_id is not None else None
        run = Run.read(self.table, key) if key is not None else None
        return [each for each in found if each.expires_at > now], run

    def stop(self, owner: CaseOwner, trial_id: str) -> None:
        """Stop a trial (idempotent). Plays that have begun are finished; no further play begins.

        Raises:
            NotFound: The agent or the trial does not exist.
        """
        self.agents.get(owner.tenant, owner.agent_id)
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
        change: dict[str, Any] = {
            "state": "ended" if why is None else "stopped", "why": why,
            "ended_at": self.clock.now(),
        }  # fmt: skip
        writes: list[Write] = [revise(known, change, also=NOT_DUE)[1]]
        head = TrialHead.read(self.table, TrialHead.key_of(trial.tenant))
        if head is not None and trial.id in head.running:
            left = tuple(each for each in head.running if each != trial.id)
            writes.append(revise(head, {"running": left})[1])
        self.table.transact(writes)

    def view(self, trial: Trial) -> TrialView:
        """Return a trial, with the results of its cases so far."""
        played = self.played(trial)
        prices = TenantOnlySettings.model_validate(self._overrides(trial.tenant)).prices
        if prices is None:
            return TrialView(trial, played, None, None)
        usage = sum((Usage(models=each.usage) for each in played.values()), Usage())
        planned = Usage(models=trial.planned)
        return TrialView(trial, played, prices.money(usage), prices.money(planned))

    def played(self, trial: Trial) -> dict[str, PlayedCase]:
        """Return how the plays of each case of a trial went so far, by case id."""
        found = {each.case_id: each for each in played_cases(self.table, trial)}
        return {
            ref.id: found.get(ref.id) or PlayedCase.unplayed(trial, ref.id) for ref in trial.cases
        }

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

    def _overrides(self, tenant: str) -> Overrides:
        return TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))

    def _trial(self, owner: CaseOwner, trial_id: str) -> Trial:
        trial = Trial.read(self.table, Trial.key_of(owner.tenant, owner.agent_id, trial_id))
        if trial is None or trial.expires_at <= self.clock.now().timestamp():
            raise NotFound("trial not found")
        return trial

    def _version(self, agent: Agent, version: int | None) -> Agent:
        """Return an agent with the fields of one of its versions."""
        if version is None or version == agent.version:
            return agent
        found = self.agents.version(agent, version)
        return agent.with_fields({**found.configured, "version": version})

    def _candidate(self, agent: Agent, new: "NewTrial") -> Agent:
        if new.candidate.changes is None:
            return self._version(agent, new.candidate.version)
        return agent.with_fields(new.candidate.changes.values_for(agent))

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
            if any(each.withheld for each in chosen):
                raise Forbidden(PRIVATE_CASE)
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

    def _check_budget(
        self, tenant: str, agent: Agent, overrides: Overrides, tokens: int, most: int
    ) -> None:
        """Check that the planned tokens fit into the limits.

        Raises:
            Conflict: The planned tokens exceed a limit.
        """
        if tokens > most:
            raise Conflict(f"the trial takes about {tokens:,} tokens; max_tokens is {most:,}")
        now = self.clock.now()
        for bucket in self.budget(agent, overrides).buckets:
            rate = bucket.rates.tokens
            left = rate.size - rate.used(bucket.allowance.tokens_full_at, now)
            if rate.limited and tokens > left:
                raise Conflict(f"the trial takes about {tokens:,} tokens; {int(left):,} are left")
