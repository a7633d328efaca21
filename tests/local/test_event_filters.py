"""Filters of event sources, as Lambda's documentation describes them."""

import json
from typing import Any

import pytest

from local.errors import BadTemplateError
from local.polling.event_filters import EventFilters

RECORD: dict[str, Any] = {
    "eventName": "MODIFY",
    "dynamodb": {
        "Keys": {"pk": {"S": "acme#CHAT#1"}, "sk": {"S": "MSG#000000000007"}},
        "NewImage": {"text": {"S": "Hi"}, "seq": {"N": "7"}, "late": {"BOOL": True}},
    },
    "tags": ["one", "two"],
    "nothing": None,
}


def keys(rule: object) -> dict[str, Any]:
    return {"dynamodb": {"Keys": {"sk": {"S": [rule]}}}}


@pytest.mark.parametrize(
    ("pattern", "accepts"),
    [
        (keys({"prefix": "MSG#"}), True),
        (keys({"prefix": "RUN#"}), False),
        (keys({"suffix": "7"}), True),
        (keys({"suffix": "8"}), False),
        (keys("MSG#000000000007"), True),
        (keys("MSG#"), False),
        (keys({"equals-ignore-case": "msg#000000000007"}), True),
        (keys({"anything-but": ["MSG#000000000007"]}), False),
        (keys({"anything-but": ["META"]}), True),
        ({"eventName": ["INSERT", "MODIFY"]}, True),
        ({"eventName": ["INSERT", "REMOVE"]}, False),
        ({"eventName": ["REMOVE"], **keys({"prefix": "MSG#"})}, False),
        ({"$or": [{"eventName": ["REMOVE"]}, keys({"prefix": "MSG#"})]}, True),
        ({"$or": [{"eventName": ["REMOVE"]}, keys({"prefix": "RUN#"})]}, False),
        ({"dynamodb": {"OldImage": {"text": {"S": [{"exists": False}]}}}}, True),
        ({"dynamodb": {"NewImage": {"text": {"S": [{"exists": False}]}}}}, False),
        ({"dynamodb": {"NewImage": {"text": {"S": [{"exists": True}]}}}}, True),
        ({"dynamodb": {"OldImage": {"text": {"S": [{"anything-but": ["Hi"]}]}}}}, False),
        ({"dynamodb": {"NewImage": {"seq": {"N": ["7"]}}}}, True),
        ({"dynamodb": {"NewImage": {"seq": {"N": [7]}}}}, False),  # numbers are texts
        ({"dynamodb": {"NewImage": {"late": {"BOOL": [True]}}}}, True),
        ({"dynamodb": {"NewImage": {"late": {"BOOL": [1]}}}}, False),
        ({"nothing": [None]}, True),
        ({"missing": [None]}, False),
        ({"tags": ["two"]}, True),
        ({"dynamodb": ["MODIFY"]}, False),
        ({"eventName": {"S": ["MODIFY"]}}, False),
    ],
)
def test_filter_accepts_matching_events(pattern: dict[str, Any], accepts: bool) -> None:
    assert EventFilters([json.dumps(pattern)]).accept(RECORD) is accepts


def test_event_passes_if_one_of_several_filters_matches_or_there_is_none() -> None:
    neither = [json.dumps(keys({"prefix": prefix})) for prefix in ("RUN#", "META")]
    assert not EventFilters(neither).accept(RECORD)
    assert EventFilters([*neither, json.dumps(keys({"prefix": "MSG#"}))]).accept(RECORD)
    assert EventFilters([]).accept(RECORD)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        json.dumps({"eventName": "INSERT"}),
        json.dumps({"eventName": []}),
        json.dumps({"eventName": [{"numeric": [">", 1]}]}),
        json.dumps({"eventName": [{"prefix": 1}]}),
        json.dumps({"eventName": [{"prefix": "a", "suffix": "b"}]}),
        json.dumps({"$or": ["INSERT"]}),
    ],
)
def test_filter_that_lambda_would_refuse_or_never_match_is_refused(text: str) -> None:
    with pytest.raises(BadTemplateError):
        EventFilters([text])
