"""Ask a model whether sentences are true of a play. Its judgement alone never blocks a change."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from skein.interface.tool import schema_for_models
from skein.models.common.base import Value
from skein.models.runs.completion import ModelMessage, ModelRequest, TokenUsage
from skein.ports import LanguageModel
from skein.prompts import render
from skein.settings import Settings
from skein.trials.models.expectation import Expectation, Played

ANSWER_TOKENS, SECONDS = 2_000, 45
UNREADABLE = "the judge's answer is unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The service that asks a model to judge plays."""

    model: LanguageModel
    settings: Settings

    def judged(
        self, expect: Sequence[Expectation], played: Played
    ) -> tuple[dict[str, str | None], Sequence[tuple[str, TokenUsage]]]:
        """Return the judgement on each sentence, and the model and the tokens of each answer.

        The judgement is the reason why the sentence is not true, or None if it is.

        Raises:
            Transient: The model is out of reach.
            ModelRejected: The provider refuses the request.
        """
        sentences = [each.judge for each in expect if each.judge is not None]
        if not sentences:
            return {}, ()
        shown = {name: getattr(played, name) for name in ("texts", "calls", "questions")}
        variables = {"sentences": json.dumps(sentences), "play": json.dumps(shown)}
        answer = self.model.complete(
            ModelRequest(
                model=self.settings.default_model,
                messages=(ModelMessage(role="user", content=render("trial_judge", variables)),),
                max_output_tokens=ANSWER_TOKENS,
                timeout_seconds=SECONDS,
                answer_schema=schema_for_models(_Judgement.model_json_schema()),
            )
        )
        missing = _missing(answer.text, len(sentences))
        return dict(zip(sentences, missing, strict=True)), [(answer.model, answer.usage)]


class _Judgement(Value):
    """The answer of the model: the reason why each sentence is not true, empty if it is."""

    missing: list[str]


def _missing(text: str, count: int) -> list[str | None]:
    """Return the model's reason why each sentence is not true; None for a sentence that is true."""
    try:
        said = _Judgement.model_validate_json(text).missing
    except ValidationError:
        said = []
    if len(said) != count:
        return [UNREADABLE] * count
    return [why.strip() or None for why in said]
