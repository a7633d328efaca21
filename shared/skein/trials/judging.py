"""Ask a model whether sentences hold for a play; what it says never blocks a change alone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field, ValidationError

from skein.models.common.base import Value
from skein.models.runs.completion import ModelAnswer, ModelMessage, ModelRequest
from skein.ports import LanguageModel
from skein.prompts import render
from skein.settings import Settings
from skein.trials.models.expectation import Expectation, Played

ANSWER_TOKENS, SECONDS = 2_000, 60
UNREADABLE = "the judge's answer is unreadable"


class _Judgement(Value):
    """What the model says about one sentence."""

    holds: bool
    why: str


class _Judgements(Value):
    """What the model says about all sentences, in their order."""

    sentences: tuple[_Judgement, ...] = Field(max_length=10)


def _schema() -> dict[str, object]:
    sentence = {
        "type": "object",
        "properties": {"holds": {"type": "boolean"}, "why": {"type": "string"}},
        "required": ["holds", "why"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"sentences": {"type": "array", "items": sentence}},
        "required": ["sentences"],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The service that asks a model about plays."""

    model: LanguageModel
    settings: Settings

    def judged(
        self, expect: Sequence[Expectation], played: Played
    ) -> tuple[dict[str, str | None], ModelAnswer | None]:
        """Return why each judged sentence does not hold, None if it does, and the model's answer.

        Raises:
            Transient: The model is out of reach.
            ModelRejected: The provider refuses the request.
        """
        sentences = [each.judge for each in expect if each.judge is not None]
        if not sentences:
            return {}, None
        shown = {
            "texts": played.texts,
            "calls": [each._asdict() for each in played.calls],
            "questions": [each._asdict() for each in played.questions],
        }
        asked = render(
            "trial_judge",
            {
                "sentences": json.dumps(sentences, ensure_ascii=False),
                "play": json.dumps(shown, ensure_ascii=False),
            },
        )
        answer = self.model.complete(
            ModelRequest(
                model=self.settings.default_model,
                messages=(ModelMessage(role="user", content=asked),),
                max_output_tokens=ANSWER_TOKENS,
                timeout_seconds=SECONDS,
                answer_schema=_schema(),
            )
        )
        return _parsed(sentences, answer.text), answer


def _parsed(sentences: Sequence[str], text: str) -> dict[str, str | None]:
    try:
        said = _Judgements.model_validate_json(text).sentences
    except ValidationError:
        said = ()
    if len(said) != len(sentences):
        return dict.fromkeys(sentences, UNREADABLE)
    return {
        sentence: None if each.holds else f"{sentence}: {each.why}"
        for sentence, each in zip(sentences, said, strict=True)
    }
