"""Language model wrapper that logs the model's failures for the local user."""

import logging

from skein.errors import SkeinError
from skein.models.runs.completion import ModelAnswer, ModelRequest
from skein.ports import LanguageModel

logger = logging.getLogger(__name__)


class TellingModel:
    """Language model (see `skein.ports.LanguageModel`) that logs failures of another model.

    Consecutive failures with the same message are logged once, because runs retry automatically.

    Args:
        model: The wrapped model.
        where: The model's API, for the log line.
    """

    def __init__(self, model: LanguageModel, where: str) -> None:
        self._model = model
        self._where = where
        self._told = ""

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Call the model (see `skein.ports.LanguageModel`) and log a new failure."""
        try:
            answer = self._model.complete(request)
        except SkeinError as error:
            if str(error) != self._told:
                self._told = str(error)
                logger.warning("the model at %s does not answer: %s", self._where, error)
            raise
        self._told = ""
        return answer
