"""Decides whether a trial allows a change of an agent that has a gate."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from skein.models.directory.agent import Agent
from skein.ports import Table
from skein.services.common.pagination import items_under
from skein.trials.models.case import Case, cases_partition
from skein.trials.models.trial import PlayedCase, Trial, digest_of

REQUIRED: Literal["trial_required"] = "trial_required"
STALE: Literal["trial_stale"] = "trial_stale"


class Refusal(NamedTuple):
    """Why a gate does not allow a change, as a code for programs and a text for people."""

    reason: Literal["trial_required", "trial_stale"]
    message: str


def refusal(table: Table, before: Agent, after: Agent, trial_id: str | None) -> Refusal | None:
    """Return why a trial does not allow a change; None if it does, or if nothing changes."""
    if digest_of(before) == digest_of(after):
        return None
    if trial_id is None:
        why = "the agent's gate requires a trial of this change: name it in the query's trial_id"
        return Refusal(REQUIRED, why)
    trial = Trial.read(table, Trial.key_of(before.tenant, before.id, trial_id))
    if trial is None or trial.state != "ended" or trial.digest != digest_of(after):
        return Refusal(REQUIRED, "there is no ended trial of exactly this change")
    if trial.baseline_version != before.version or _lacks_cases(table, before, trial):
        return Refusal(STALE, "the agent or a required case was changed since the trial")
    required = {each.id for each in trial.cases if each.required}
    if any(each.blocks and each.case_id in required for each in played_cases(table, trial)):
        return Refusal(REQUIRED, "a required case of the trial regressed")
    return None


def played_cases(table: Table, trial: Trial) -> Iterable[PlayedCase]:
    """Return how those cases of a trial went that have been played so far."""
    return PlayedCase.each_of(items_under(table, trial.own_partition, PlayedCase.PREFIX))


def _lacks_cases(table: Table, agent: Agent, trial: Trial) -> bool:
    """Return whether a trial lacks the current version of a required case."""
    partition = cases_partition(agent.tenant, agent.id)
    cases = Case.each_of(items_under(table, partition, Case.PREFIX))
    tried = {(each.id, each.version) for each in trial.cases}
    return any(each.required and (each.id, each.version) not in tried for each in cases)
