"""The settings of the whole stack: copies that change together, and the command for operators."""

import json
from collections.abc import Sequence

import pytest

from skein.models.config.overrides import STACK_COPIES, Overrides, StackSettings
from skein.services.config.stack_settings import StackSettingsService
from tests.support.builders import World
from tools.stack.settings import apply, outputs_of


def copies(world: World) -> list[Overrides]:
    keys = [StackSettings.key_of(number) for number in range(STACK_COPIES)]
    return [StackSettings.from_optional(world.table.get(key)) for key in keys]


def test_stack_settings_without_an_item_are_empty() -> None:
    world = World()
    assert apply(world.table, world.clock, []) == {"settings": {}, "pauses": {}}


def test_stack_settings_change_in_all_copies_and_field_by_field() -> None:
    world = World()
    apply(world.table, world.clock, ["context_rollout_percent=12.5"])
    apply(world.table, world.clock, ["context_enabled=false"])
    both = {"context_enabled": False, "context_rollout_percent": 12.5}
    assert copies(world) == [both] * STACK_COPIES
    said = apply(world.table, world.clock, ["context_rollout_percent=null"])["settings"]
    assert copies(world) == [said] * STACK_COPIES == [{"context_enabled": False}] * 16
    assert StackSettingsService(table=world.table, clock=world.clock).get() == said


@pytest.mark.parametrize(
    "wrong",
    [
        "context_enabled=1",
        "context_enabled=yes",
        "context_enabled",
        "context_rollout_percent=101",
        "context_rollout_percent=-1",
        "context_rollout_percent=true",
        'context_rollout_percent="ten"',
        "message_days=3",
        "weekends=1",
        "runs=yes",
    ],
)
def test_stack_settings_with_a_wrong_value_change_nothing(wrong: str) -> None:
    world = World()
    with pytest.raises(ValueError, match=r"."):
        apply(world.table, world.clock, ["context_enabled=false", "texts=1", wrong])
    assert apply(world.table, world.clock, []) == {"settings": {}, "pauses": {}}


def test_stack_settings_are_read_from_all_copies() -> None:
    keys = {StackSettings.key_for(f"run_{number}") for number in range(1_000)}
    assert keys == {StackSettings.key_of(number) for number in range(STACK_COPIES)}


def test_pauses_of_the_stack_are_switched_where_a_value_is_given() -> None:
    world = World()

    def paused(*assignments: str) -> set[str]:
        return set(json.loads(json.dumps(apply(world.table, world.clock, assignments)))["pauses"])

    assert paused("runs=1", "texts=", "background=1") == {"runs", "background"}
    assert paused("runs=0", "texts=", "background=") == {"background"}


def test_names_of_tables_come_from_the_outputs_of_the_stack() -> None:
    def described(command: Sequence[str]) -> str:
        assert command[-1] == "skein-staging"
        outputs = [{"OutputKey": "TableName", "OutputValue": "skein-staging-Table-1"}]
        return json.dumps({"Stacks": [{"Outputs": outputs}]})

    assert outputs_of("skein-staging", described) == {"TableName": "skein-staging-Table-1"}
