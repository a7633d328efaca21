"""The check of AWS calls reports requests and responses that AWS would not accept or return."""

from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.support.aws_shapes import WrongShapeError, checked


class Wrong:
    """A stand-in that answers with what it is given."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    def get_item(self, **_: Any) -> dict[str, Any]:
        return self._answer


KEY = {"TableName": "table", "Key": {"pk": {"S": "a"}}}


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ({**KEY, "Keys": []}, {}),
        ({"TableName": "table"}, {}),
        ({**KEY, "Key": {"pk": "a"}}, {}),
        (KEY, {"Items": []}),
        (KEY, {"Item": {"pk": "a"}}),
    ],
)
def test_call_or_answer_that_aws_does_not_know_is_an_error(
    call: dict[str, Any], answer: dict[str, Any]
) -> None:
    with pytest.raises(WrongShapeError):
        checked("dynamodb", Wrong(answer)).get_item(**call)


def test_call_and_answer_as_aws_describes_them_pass() -> None:
    answer = {"Item": {"pk": {"S": "a"}}}
    assert checked("dynamodb", Wrong(answer)).get_item(**KEY) == answer


def test_answer_of_an_emulator_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock_aws():
        client = boto3.client("sqs", region_name="us-east-1")
        monkeypatch.setattr(
            "moto.sqs.responses.SQSResponse.create_queue",
            lambda _: '{"QueueUri": 1, "QueueUrl": 2}',
        )
        with pytest.raises(WrongShapeError, match="the answer of CreateQueue"):
            client.create_queue(QueueName="a")
        client.close()
