"""Guardrails of Bedrock, by calls and answers as AWS describes them, and those of packages."""

from importlib.metadata import EntryPoint, EntryPoints
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from skein.adapters.guardrails import MOST_CHARACTERS, OperatorGuardrails
from skein.errors import KeyRefused, SkeinError, Throttled, Unavailable
from skein.models.config.guardrail import Guardrail
from tests.support.aws_shapes import checked

GUARDRAIL = Guardrail(id="gr1abc", version="3")
UNITS = (
    *("topicPolicyUnits", "contentPolicyUnits", "wordPolicyUnits"),
    *("sensitiveInformationPolicyUnits", "sensitiveInformationPolicyFreeUnits"),
    "contextualGroundingPolicyUnits",
)


class Bedrock:
    """A stand-in for the guardrails of Bedrock, which blocks texts with a word."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self._error = error

    def apply_guardrail(self, **given: Any) -> dict[str, Any]:
        self.asked.append(given)
        if self._error is not None:
            raise self._error
        blocked = any("bomb" in part["text"]["text"] for part in given["content"])
        return {
            "usage": dict.fromkeys(UNITS, 1),
            "action": "GUARDRAIL_INTERVENED" if blocked else "NONE",
            "outputs": [{"text": "Blocked."}] if blocked else [],
            "assessments": [],
        }


def guardrails_of(bedrock: Bedrock) -> OperatorGuardrails:
    aws: Any = SimpleNamespace(client=lambda name, **_: checked(name, bedrock))
    return OperatorGuardrails(lambda: aws)


def test_texts_are_checked_by_their_direction() -> None:
    bedrock = Bedrock()
    guardrails = guardrails_of(bedrock)
    assert not guardrails.blocks(GUARDRAIL, ["Hello", "you"], output=False)
    assert guardrails.blocks(GUARDRAIL, ["Hello", "a bomb"], output=True)
    assert [each["source"] for each in bedrock.asked] == ["INPUT", "OUTPUT"]
    first = bedrock.asked[0]
    assert (first["guardrailIdentifier"], first["guardrailVersion"]) == ("gr1abc", "3")
    assert first["content"] == [{"text": {"text": "Hello"}}, {"text": {"text": "you"}}]


def test_long_texts_are_checked_in_parts() -> None:
    bedrock = Bedrock()
    long = "x" * (2 * MOST_CHARACTERS) + "bomb"
    assert guardrails_of(bedrock).blocks(GUARDRAIL, ["short", long], output=False)
    sizes = [sum(len(part["text"]["text"]) for part in each["content"]) for each in bedrock.asked]
    assert max(sizes) <= MOST_CHARACTERS
    assert sum(sizes) == len(long) + len("short")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ThrottlingException", Throttled),
        ("AccessDeniedException", KeyRefused),
        ("ValidationException", Unavailable),
    ],
)
def test_guardrail_that_fails_lets_nothing_pass(code: str, error: type[SkeinError]) -> None:
    answer: Any = {"Error": {"Code": code, "Message": "-"}, "ResponseMetadata": {}}
    failure = ClientError(answer, "ApplyGuardrail")
    with pytest.raises(error):
        guardrails_of(Bedrock(failure)).blocks(GUARDRAIL, ["Hello"], output=False)


def test_package_checks_with_its_two_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    points = EntryPoints(
        [EntryPoint("house", f"{__name__}:House", "skein.guardrails")],
    )
    monkeypatch.setattr("skein.adapters.guardrails.entry_points", points.select)
    guardrails, house = guardrails_of(Bedrock()), Guardrail(id="python:house")
    assert not guardrails.blocks(house, ["Hello"], output=False)
    assert guardrails.blocks(house, ["Hello"], output=True)
    with pytest.raises(KeyRefused, match="no package"):
        guardrails.blocks(Guardrail(id="python:other"), ["Hello"], output=True)


class House:
    """A package's guardrail, which lets nothing out."""

    @staticmethod
    def check_input(texts: list[str]) -> bool:
        return bool(texts)

    @staticmethod
    def check_output(texts: list[str]) -> bool:
        return not texts
