"""Read the cases of an agent or a trial, and decide whether a trial allows a gated change."""

from collections.abc import Iterator, Sequence

from skein.errors import Conflict
from skein.models.directory.agent import Agent
from skein.ports import Table
from skein.services.common.pagination import items_under
from skein.trials.models.case import Case, cases_partition
from skein.trials.models.trial import PlayedCase, Trial, digest_of

UNNAMED = "the agent's gate requires a trial of this change: name it in the query's trial_id"
REQUIRED, STALE = {"reason": "trial_required"}, {"reason": "trial_stale"}


def refusal(table: Table, before: Agent, after: Agent, trial_id: str | None) -> Conflict | None:
    """Return why a trial does not allow a change; None if it does, or if nothing changes.

    The details of the error have the reason: `trial_required` or `trial_stale`.
    """
    if digest_of(before) == digest_of(after):
        return None
    if trial_id is None:
        return Conflict(UNNAMED, details=REQUIRED)
    trial = Trial.read(table, Trial.key_of(before.tenant, before.id, trial_id))
    if trial is None or trial.state != "ended" or trial.digest != digest_of(after):
        return Conflict("there is no ended trial of exactly this change", details=REQUIRED)
    cases = played_cases(table, trial)
    if trial.baseline_version != before.version or _lacks_cases(table, before, cases):
        why = "the agent or a required case was changed since the trial"
        return Conflict(why, details=STALE)
    if any(each.blocks and each.required for each in cases):
        return Conflict("a required case of the trial regressed", details=REQUIRED)
    return None


def cases_of(table: Table, tenant: str, agent_id: str) -> Iterator[Case]:
    """Yield all cases of an agent, oldest first."""
    return Case.each_of(items_under(table, cases_partition(tenant, agent_id), Case.PREFIX))


def played_cases(table: Table, trial: Trial) -> list[PlayedCase]:
    """Return the cases of a trial, in the order in which they were created."""
    return [*PlayedCase.each_of(items_under(table, trial.own_partition, PlayedCase.PREFIX))]


def _lacks_cases(table: Table, agent: Agent, played: Sequence[PlayedCase]) -> bool:
    """Return whether a trial lacks the current version of a required case."""
    cases = cases_of(table, agent.tenant, agent.id)
    tried = {(each.id, each.case_version) for each in played}
    return any(each.required and (each.id, each.version) not in tried for each in cases)
