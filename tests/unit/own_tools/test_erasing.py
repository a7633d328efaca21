"""An erasure reaches the calls that wait for operators."""

from skein.models.common.storage import Delete, Put, Update
from skein.models.runs.requested_call import RequestedCall
from skein.models.visibility.audience import OPEN, Audience
from skein.own_tools.erasing import approvals_erased
from skein.own_tools.models.approval import ToolApproval
from tests.fakes.table import MemoryTable
from tests.support.builders import NOON, TENANT

ANN, BEN = "usr_ann", "usr_ben"
BOTH = Audience(open=False, people=(ANN, BEN))


def approval(person: str, readers: Audience) -> ToolApproval:
    call = RequestedCall(
        run_id="run_1", step=1, position=0, tool="b", version=1, readers=readers, person=person
    )
    given = {"tenant": TENANT, "id": f"{person}-{readers.open}", "agent_id": "agt_a", "call": call}
    return ToolApproval.model_validate(
        given | {"private": True, "created_at": NOON, "expires_at": 2_000_000_000}
    )


def test_call_of_the_person_is_deleted_and_others_lose_the_reader() -> None:
    table = MemoryTable()
    theirs, others = approval(ANN, OPEN), approval(BEN, BOTH)
    for each in (theirs, others, approval(BEN, OPEN)):
        table.write(Put(each.key, each.to_item()))
    deleted, changed = sorted(
        approvals_erased(table, TENANT, ANN, (ANN,)), key=lambda each: type(each).__name__
    )
    assert deleted == Delete(theirs.key)
    assert isinstance(changed, Update)
    table.write(changed)
    left = ToolApproval.from_item(table.get(others.key) or {})
    assert left.call.readers == Audience(open=False, people=(BEN,))
