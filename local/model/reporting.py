"""Tell the local user when the model does not answer, and how to fix this."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from skein.errors import (
    KeyRefused,
    ModelRejected,
    ModelUnknown,
    SkeinError,
    Throttled,
    Unreachable,
)
from skein.models.runs.completion import ModelAnswer, ModelRequest
from skein.ports import LanguageModel

OPENAI = "api.openai.com"
KEPT = "Messages are kept, and answered when the model is back."

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelApi:
    """The model API of a stack, as the local user configured it.

    Attributes:
        base_url: The base URL; None for OpenAI's own API.
        default_model: The value of `SKEIN_DEFAULT_MODEL`.
        light_model: The value of `SKEIN_LIGHT_MODEL`.
    """

    base_url: str | None
    default_model: str
    light_model: str

    @property
    def where(self) -> str:
        """The address of the API, for messages."""
        return self.base_url or OPENAI

    def report(self, error: SkeinError, model: str) -> str:
        """Describe a failed answer in one line: the model, its URL, the cause and advice."""
        return f"no answer from {model} at {self.where}: {error}. {self._advice(error, model)}"

    def _advice(self, error: SkeinError, model: str) -> str:
        match error:
            case Unreachable() if self.base_url is None:
                todo = f"Check this machine's connection to the internet. {KEPT}"
            case Unreachable():
                todo = f"Start the server there, or correct OPENAI_BASE_URL and start again. {KEPT}"
            case KeyRefused():
                todo = f"Correct OPENAI_API_KEY and start again. {KEPT}"
            case ModelUnknown():
                todo = f"Correct {self._setting_of(model)}{self._path()} and start again. {KEPT}"
            case Throttled():
                todo = f"The API limits its requests, or a quota is used up. {KEPT}"
            case ModelRejected():
                todo = "The API refuses this request, which is not sent again."
            case _:
                todo = f"The model is asked again shortly. {KEPT}"
        return todo

    def _setting_of(self, model: str) -> str:
        names = {self.light_model: "SKEIN_LIGHT_MODEL", self.default_model: "SKEIN_DEFAULT_MODEL"}
        return names.get(model, "the model of the agent")

    def _path(self) -> str:
        if self.base_url is None:
            return ""
        return " (or the path of OPENAI_BASE_URL, which often ends in /v1)"


class ReportingModel:
    """Language model (see `skein.ports.LanguageModel`) that logs each failure of another model.

    Args:
        model: The wrapped model.
        api: The model's API, for the log lines.
    """

    def __init__(self, model: LanguageModel, api: ModelApi) -> None:
        self._model = model
        self._api = api
        self._failing = False

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Call the model (see `skein.ports.LanguageModel`).

        Log when the model fails, and when it works again.
        """
        return self._reported(request, lambda: self._model.complete(request))

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        """Call the model as `complete` does, and report its words while it writes them."""
        return self._reported(request, lambda: self._model.stream(request, heard))

    def _reported(self, request: ModelRequest, ask: Callable[[], ModelAnswer]) -> ModelAnswer:
        try:
            answer = ask()
        except SkeinError as error:
            self._failing = True
            logger.warning("%s", self._api.report(error, request.model))
            raise
        if self._failing:
            self._failing = False
            logger.info("the model at %s answers again", self._api.where)
        return answer
