"""Ask a model whether sentences are true of a play. Its judgement alone never blocks a change."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from skein.models.runs.completion import ModelAnswer, ModelMessage, ModelRequest
from skein.ports import LanguageModel
from skein.prompts import render
from skein.settings import Settings
from skein.trials.models.expectation import Expectation, Played

ANSWER_TOKENS, SECONDS = 2_000, 45
UNREADABLE = "the judge's answer is unreadable"
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"missing": {"type": "array", "items": {"type": "string"}}},
    "required": ["missing"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The service that asks a model to judge plays."""

    model: LanguageModel
    settings: Settings

    def judged(
        self, expect: Sequence[Expectation], played: Played
    ) -> tuple[dict[str, str | None], ModelAnswer | None]:
        """Return the judgement on each sentence, and the model's answer.

        The judgement is the reason why the sentence is not true, or None if it is.

        Raises:
            Transient: The model is out of reach.
            ModelRejected: The provider refuses the request.
        """
        sentences = [each.judge for each in expect if each.judge is not None]
        if not sentences:
            return {}, None
        shown = {name: getattr(played, name) for name in ("texts", "calls", "questions")}
        variables = {"sentences": json.dumps(sentences), "play": json.dumps(shown)}
        answer = self.model.complete(
            ModelRequest(
                model=self.settings.default_model,
                messages=(ModelMessage(role="user", content=render("trial_judge", variables)),),
                max_output_tokens=ANSWER_TOKENS,
                timeout_seconds=SECONDS,
                answer_schema=SCHEMA,
            )
        )
        return dict(zip(sentences, _missing(answer.text, len(sentences)), strict=True)), answer


def _missing(text: str, count: int) -> list[str | None]:
    """Return the model's reason why each sentence is not true; None for a sentence that is true."""
    try:
        said = json.loads(text)["missing"]
    except (ValueError, LookupError, TypeError):
        said = []
    if not isinstance(said, list) or len(said) != count:
        return [UNREADABLE] * count
    return [str(why).strip() or None for why in said]
