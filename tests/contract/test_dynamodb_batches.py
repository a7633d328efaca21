"""DynamoDB may read less of a batch than was asked for; the adapter asks on, but not for ever."""

from typing import Any

import pytest

from skein.adapters.dynamodb.table import BATCH_RETRY, DynamoTable
from skein.errors import Throttled
from skein.models.common.storage import Key
from skein.settings import Settings
from tests.fakes.system import FixedClock
from tests.support.aws_shapes import checked

KEY = Key("test#CHAT#chat_1", "META")


class MiserlyClient:
    """Reads a few items of each batch, or none, and leaves the others for later."""

    def __init__(self, at_once: int, *, consistent: bool = True) -> None:
        self.sizes: list[int] = []
        self._at_once = at_once
        self._consistent = consistent

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        ((name, wanted),) = RequestItems.items()
        assert wanted["ConsistentRead"] is self._consistent
        keys = wanted["Keys"]
        self.sizes.append(len(keys))
        left = keys[self._at_once :]
        unprocessed = {name: {"Keys": left, "ConsistentRead": self._consistent}} if left else {}
        return {"Responses": {name: keys[: self._at_once]}, "UnprocessedKeys": unprocessed}


def over(client: MiserlyClient, clock: FixedClock) -> DynamoTable:
    return DynamoTable(checked("dynamodb", client), Settings().table_name, clock)


@pytest.mark.parametrize("consistent", [True, False])
def test_unprocessed_keys_of_a_batch_are_read_after_a_pause(
    clock: FixedClock, *, consistent: bool
) -> None:
    client = MiserlyClient(at_once=40, consistent=consistent)
    table = over(client, clock)
    keys = [Key("p", str(n)) for n in range(100)]
    assert table.get_many(keys, consistent=consistent).keys() == set(keys)
    assert client.sizes == [100, 60, 20]
    assert len(clock.slept) == 2


def test_a_batch_that_is_never_read_whole_is_a_throttle(clock: FixedClock) -> None:
    client = MiserlyClient(at_once=0)
    with pytest.raises(Throttled):
        over(client, clock).get_many([KEY])
    assert len(client.sizes) == BATCH_RETRY.max_tries
