"""Check of the model's API at the start of the local stack."""

import logging
import threading

from local.model.reporting import ModelApi
from skein.adapters.openai.model import OpenAIModel
from skein.errors import ModelRejected, ModelUnknown, SkeinError

LIST_SECONDS = 10.0
PROBE_SECONDS = 20.0
STOP_SECONDS = 3.0
MAX_LISTED = 8

logger = logging.getLogger(__name__)


class ModelCheck:
    """Check, in a separate thread, that the API is reachable, accepts the key and has the models.

    The check lists the API's models, which costs nothing. If a model is not in the list, the check
    asks the model for one token, because some APIs list no models, or list them under longer names.

    Args:
        model: The client of the API.
        api: The API, with the names of the models.
    """

    def __init__(self, model: OpenAIModel, api: ModelApi) -> None:
        self._model = model
        self._api = api
        self._thread = threading.Thread(target=self.check, name="model check", daemon=True)

    def start(self) -> None:
        """Start the check and return at once."""
        self._thread.start()

    def stop(self) -> None:
        """Wait until the check has ended, for at most `STOP_SECONDS`."""
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)

    def check(self) -> None:
        """Check the API, and log each problem with advice."""
        default = self._api.default_model
        try:
            listed = self._model.models(seconds=LIST_SECONDS)
        except (ModelUnknown, ModelRejected):
            listed = frozenset()
        except SkeinError as error:
            logger.warning("%s", self._api.report(error, default))
            return
        for name in dict.fromkeys((default, self._api.light_model)):
            if name not in listed and not self._answers(name, listed):
                return

    def _answers(self, name: str, listed: frozenset[str]) -> bool:
        """Ask a model for one token. If it does not answer, log why."""
        try:
            self._model.probe(name, seconds=PROBE_SECONDS)
        except ModelRejected as error:
            if not listed:
                return True  # the API knows the model, and refuses so short an answer
            problem: SkeinError = ModelUnknown(str(error))
        except SkeinError as error:
            problem = error
        else:
            return True
        hint = f" The API lists {', '.join(sorted(listed)[:MAX_LISTED])}." if listed else ""
        logger.warning("%s%s", self._api.report(problem, name), hint)
        return False
