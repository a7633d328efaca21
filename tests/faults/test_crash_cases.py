"""A case is created, changed and deleted with a death at each call: it is stored once."""

import admin_api
from skein.models.common.storage import Query
from skein.trials.models.case import Case, cases_partition
from tests.faults.deployment import Deployment, ReadingOperator, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import TENANT

CASES = "/v1/agents/agt_a/cases"
SCRIPT = {"people": [{"name": "Ann"}], "turns": [{"from": "Ann", "text": "When do you open?"}]}


class Shop(Deployment):
    """An agent without cases, and its operator."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.operator = ReadingOperator(self, admin_api, sub="usr_op", scope="support")
        self.fuse.disarm()

    @property
    def cases(self) -> list[Case]:
        return list(Case.each_of(self.table.query(Query(cases_partition(TENANT, "agt_a"))).items))

    def play(self) -> None:
        for name in ("Kept", "Deleted"):
            body = {"name": name, "expect": [{"silent": True}], "script": SCRIPT}
            self.operator.call("POST", CASES, body, headers={"Idempotency-Key": name})
        kept, deleted = (each.id for each in self.cases)
        self.operator.patch(f"{CASES}/{kept}", {"required": False})
        self.operator.delete(f"{CASES}/{deleted}")


def check(world: Shop) -> None:
    assert [(each.name, each.required) for each in world.cases] == [("Kept", False)]


def test_case_is_stored_once_after_a_death_at_each_call(share: FaultShare) -> None:
    Sweep(Shop, play=Shop.play, check=check).one_death(share, of=every_death)
