"""A trial is played with a death at each call: one trial, and one result of each play."""

from typing import Any

import admin_api
from skein.models.common.storage import Query
from skein.trials.models.trial import PlayedCase, PlayResult, Trial, TrialHead, trials_partition
from tests.faults.deployment import Deployment, ReadingOperator, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import TENANT

CASE: dict[str, Any] = {
    "name": "Hours",
    "script": {
        "people": [{"name": "Ann"}],
        "turns": [{"from": "Ann", "text": "When do you open?"}],
    },
    "expect": [{"says": ["hello"]}],
}
TRIAL = {"candidate": {"changes": {"system_prompt": "Be brief."}}, "repeats": 1}


class Lake(Deployment):
    """A tenant with an agent and a case."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.operator = ReadingOperator(self, admin_api, sub="usr_op", scope="admin")
        self.create("cases", CASE)
        self.fuse.disarm()

    def create(self, what: str, body: dict[str, Any]) -> None:
        path = f"/v1/agents/agt_a/{what}"
        answer = self.operator.call("POST", path, body, headers={"Idempotency-Key": what})
        assert answer.status in {201, 202}, answer.raw

    @property
    def trials(self) -> list[Trial]:
        page = self.table.query(Query.under(trials_partition(TENANT, "agt_a"), Trial.PREFIX))
        return list(Trial.each_of(page.items))

    def try_it(self) -> None:
        self.create("trials", TRIAL)
        self.live(until=lambda: all(each.state == "ended" for each in self.trials))


def check(world: Lake) -> None:
    [trial] = world.trials
    head = TrialHead.read(world.table, TrialHead.key_of(TENANT))
    assert head is not None
    assert head.running == ()
    items = world.table.query(Query(trial.own_partition)).items
    [case] = PlayedCase.each_of(each for each in items if PlayedCase.PREFIX.holds(each))
    assert case.verdict == "held"
    results = [each for each in items if not PlayedCase.PREFIX.holds(each)]
    found = [(each.side, each.n, each.mark) for each in PlayResult.each_of(results)]
    assert found == [("baseline", 1, "passed"), ("candidate", 1, "passed")]


TRIED = Sweep(Lake, play=lambda world: world.try_it(), check=check)


def test_trial_has_one_result_of_each_play_after_a_death_at_each_call(share: FaultShare) -> None:
    TRIED.one_death(share, of=every_death)
