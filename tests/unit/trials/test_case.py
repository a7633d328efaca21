"""A case has one input, limits on all that it holds, and results that calls take in order."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from skein.trials.models.case import Case, RecordedResult, RecordedResults
from skein.trials.models.expectation import Played, missing_of

NOW = datetime(2026, 11, 29, tzinfo=UTC)
SCRIPT = {"people": [{"name": "Ann"}], "turns": [{"from": "Ann", "text": "Hello?"}]}


def case(**fields: Any) -> Case:
    given = {"expect": [{"says": ["hi"]}], **({} if "run_id" in fields else {"script": SCRIPT})}
    own = {"tenant": "t", "agent_id": "agt_1", "id": "case_1", "name": "Greets", "created_at": NOW}
    return Case.model_validate({**own, **given, **fields})


def test_case_is_stored_beside_its_agent_and_read_as_it_was() -> None:
    call = {"tool": "book", "arguments": {"note": None, "seats": 4.5}}
    made = case(results=[{**call, "result": "ok"}], expect=[{"calls_not": call}])
    assert Case.from_item(made.attributes()) == made
    assert made.key.pk == "t#AGENT#agt_1#CASES"


def test_case_names_each_expectation_that_is_not_met() -> None:
    made = case(expect=[{"says": ["hi"]}, {"silent": True}, {"says_not": ["bye"]}])
    assert missing_of(made.expect, Played(texts=("Bye!",))) == [
        'says none of: "hi"',
        "says: Bye!",
        "says: bye",
    ]


def script(**fields: Any) -> dict[str, Any]:
    return {"script": SCRIPT | fields}


@pytest.mark.parametrize(
    "fields",
    [
        {"run_id": "run_1", "script": SCRIPT},
        {"script": None},
        {"expect": []},
        {"expect": [{"silent": True}] * 11},
        {"results": [{"tool": "book"}]},
        {"results": [{"tool": "book", "result": "ok", "error": "no"}]},
        {"results": [{"tool": "book", "result": "x" * 10_000}] * 6},
        script(people=[{"name": f"P{n}"} for n in range(11)], chat="open"),
        script(people=[{"name": "Ann"}, {"name": "Ann"}], chat="open"),
        script(people=[{"name": "Ann"}, {"name": "Ben"}]),
        script(chat="open", channel="sms"),
        script(turns=[]),
        script(turns=[{"from": "Ann", "text": "x"}] * 21),
        script(turns=[{"from": "Ann", "text": "x" * 2_001}]),
        script(turns=[{"from": "Ben", "text": "x"}]),
    ],
)
def test_case_beyond_its_limits_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        case(**fields)


def test_calls_take_results_in_order_and_the_last_one_again() -> None:
    results = RecordedResults(
        [
            RecordedResult(tool="find", arguments={"day": "Friday"}, result="1"),
            RecordedResult(tool="find", arguments={}, result="2"),
            RecordedResult(tool="book", arguments={}, error="full"),
        ]
    )

    def taken(tool: str, **arguments: object) -> str | None:
        found = results.take(tool, arguments)
        if found is None:
            return None
        assert isinstance(found, RecordedResult)
        return found.result or found.error

    assert taken("find", day="Monday") == "2"
    assert taken("find", day="friday", at=7) == "1"
    assert taken("find", day="Monday") == "2"
    assert taken("book", seats=4) == "full"
    assert taken("cancel") is None
