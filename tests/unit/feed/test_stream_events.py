"""Records of a DynamoDB stream as changes, and the answer to Lambda."""

from collections.abc import Sequence
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

from skein.models.common.storage import Key
from skein.models.outbox.changes import ItemChange
from skein.stream_events import change_of, process
from tests.support.api_client import recorded

EVENT = recorded("feed")
INSERT, MODIFY, LEFT, EXPIRED = EVENT["Records"]
NUMBERS = [record["dynamodb"]["SequenceNumber"] for record in EVENT["Records"]]


def failing(*positions: int) -> Any:
    def forward(changes: Sequence[ItemChange]) -> frozenset[int]:
        return frozenset(positions)

    return forward


def test_new_item_has_its_values_and_no_earlier_state() -> None:
    change = change_of(INSERT)
    assert change.key == Key("acme#CHAT#chat_1", "MSG#000000000007")
    assert change.before is None
    assert change.after is not None
    assert (change.after["seq"], change.after["text"]) == (7, "My flight is LH 442 on Friday.")
    assert change.after["sender"]["name"] == "Husam"
    assert change.at == datetime(2026, 2, 18, 12, 0, tzinfo=UTC)
    assert not change.expired


def test_changed_item_has_both_states() -> None:
    change = change_of(MODIFY)
    assert change.before is not None
    assert change.after is not None
    assert change.alters("runs")
    assert not change.alters("text", "kind", "sender")


def test_item_that_the_table_deleted_has_expired() -> None:
    change = change_of(EXPIRED)
    assert (change.after, change.expired) == (None, True)
    assert change.alters("text")
    deleted = {name: value for name, value in EXPIRED.items() if name != "userIdentity"}
    assert not change_of(deleted).expired


def test_bytes_are_bytes_also_inside_of_lists_and_mappings() -> None:
    record = deepcopy(INSERT)
    data = {"B": "AP8="}
    record["dynamodb"]["NewImage"] |= {"data": data, "list": {"L": [data, {"M": {"x": data}}]}}
    after = change_of(record).after
    assert after is not None
    assert after["data"] == b"\x00\xff"
    assert after["list"] == [b"\x00\xff", {"x": b"\x00\xff"}]


def test_batch_without_failures_is_finished() -> None:
    assert process(EVENT, failing()) == {"batchItemFailures": []}


def test_first_failed_record_is_reported() -> None:
    answer = process(EVENT, failing(2, 1))
    assert answer == {"batchItemFailures": [{"itemIdentifier": NUMBERS[1]}]}


@pytest.mark.parametrize(
    "damage",
    [
        {"Keys": {"pk": {"S": "p"}}},
        {"Keys": None},
        {"NewImage": {"text": {"Q": "?", "S": "!"}}},
        {"NewImage": {"data": {"B": "no base64"}}},
        {"NewImage": None},
        {"ApproximateCreationDateTime": "noon"},
    ],
)
def test_malformed_record_fails_and_the_others_are_forwarded(damage: dict[str, Any]) -> None:
    event = deepcopy(EVENT)
    event["Records"][0]["dynamodb"] |= damage
    taken: list[ItemChange] = []

    def forward(changes: Sequence[ItemChange]) -> frozenset[int]:
        taken.extend(changes)
        return frozenset({1})  # the third record

    answer = process(event, forward)
    assert answer == {"batchItemFailures": [{"itemIdentifier": NUMBERS[0]}]}
    assert [change.key.sk for change in taken] == [
        record["dynamodb"]["Keys"]["sk"]["S"] for record in EVENT["Records"][1:]
    ]


def test_failure_after_a_malformed_record_keeps_its_position() -> None:
    event = deepcopy(EVENT)
    event["Records"][3]["dynamodb"]["Keys"] = None
    answer = process(event, failing(2))
    assert answer == {"batchItemFailures": [{"itemIdentifier": NUMBERS[2]}]}


def test_event_of_another_service_is_refused() -> None:
    with pytest.raises(KeyError):
        process(recorded("sms_delivery"), failing())
