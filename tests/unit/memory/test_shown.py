"""The memories that a model is shown if not all of them fit."""

from datetime import timedelta

from skein.memory.models.memory import Memory
from skein.memory.shown import within_budget
from skein.models.visibility.audience import OPEN
from tests.support.builders import NOON, TENANT, tokens


def _memory(number: int, text: str, *, constitutional: bool = False) -> Memory:
    return Memory(
        tenant=TENANT,
        agent_id="agt_a",
        id=f"mem_{number:02d}",
        kind="core",
        text=text,
        audience=OPEN,
        made_by="api",
        by_operator=True,
        constitutional=constitutional,
        created_at=NOON + timedelta(seconds=number),
    )


def test_constitutional_memories_and_the_newest_core_ones_stay_within_the_budget() -> None:
    law = _memory(0, "The oldest law", constitutional=True)
    memories = [law, *(_memory(n + 1, f"Memory number {n} of ten") for n in range(10))]
    line = tokens().count("  - [2026-02-18] (operator) Memory number 1 of ten\n")
    of_law = tokens().count("  - [2026-02-18] (operator) The oldest law\n")

    def shown(budget: int) -> list[str]:
        return [memory.text for memory in within_budget(memories[::-1], tokens(), budget)]

    newest = ["The oldest law", *(f"Memory number {n} of ten" for n in (7, 8, 9))]
    assert shown(of_law + 3 * line) == newest
    assert shown(of_law + 4 * line - 1) == newest
    assert shown(0) == ["The oldest law"]
    assert len(shown(10_000)) == 11
