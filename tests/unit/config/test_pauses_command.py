"""The command `make pause`, which pauses a whole stack."""

import json
from collections.abc import Sequence

import pytest

from tests.support.builders import World
from tools.stack.pause import apply, table_of


def test_pause_command_switches_what_has_a_value() -> None:
    world = World()
    since = apply(world.table, world.clock, ["runs=1", "texts=", "background=1"])
    assert set(since) == {"runs", "background"}
    assert set(apply(world.table, world.clock, ["runs=0", "texts=", "background="])) == {
        "background"
    }


@pytest.mark.parametrize("wrong", ["weekends=1", "texts=yes"])
def test_pause_command_with_a_wrong_switch_changes_nothing(wrong: str) -> None:
    world = World()
    with pytest.raises(ValueError, match="is not one of"):
        apply(world.table, world.clock, ["runs=1", wrong])
    assert apply(world.table, world.clock, []) == {}


def test_pause_command_finds_the_table_in_the_outputs_of_the_stack() -> None:
    def described(command: Sequence[str]) -> str:
        assert command[-1] == "skein-staging"
        outputs = [{"OutputKey": "TableName", "OutputValue": "skein-staging-Table-1"}]
        return json.dumps({"Stacks": [{"Outputs": outputs}]})

    assert table_of("skein-staging", described) == "skein-staging-Table-1"
