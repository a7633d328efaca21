"""Tells the user of the local stack that the model does not answer, and why."""

import logging

from skein.errors import SkeinError
from skein.models.completion import ModelAnswer, ModelRequest
from skein.ports import LanguageModel

logger = logging.getLogger(__name__)


class TellingModel:
    """A language model (see `skein.ports.LanguageModel`) of whose failures the user hears.

    The same reason is told once until there is an answer again: runs try on by themselves.

    Args:
        model: The model.
        where: Its API.
    """

    def __init__(self, model: LanguageModel, where: str) -> None:
        self._model = model
        self._where = where
        self._told = ""

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """See `skein.ports.LanguageModel`."""
        try:
            answer = self._model.complete(request)
        except SkeinError as error:
            if str(error) != self._told:
                self._told = str(error)
                logger.warning("the model at %s does not answer: %s", self._where, error)
            raise
        self._told = ""
        return answer
