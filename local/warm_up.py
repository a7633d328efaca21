"""Warm-up of the local stack: loads in the background what the first message needs.

Importing the libraries takes longer than the rest of the start. So the stack answers requests
before the libraries are loaded.
"""

import importlib
import logging
import threading
from collections.abc import Sequence

from skein.bootstrap.wiring import App
from skein.errors import SkeinError

logger = logging.getLogger(__name__)


class WarmUp:
    """Background thread that imports the client of the model and builds the token counter.

    Args:
        app: The app of the stack.
        libraries: The libraries of the model's client.
    """

    def __init__(self, app: App, libraries: Sequence[str]) -> None:
        self._app = app
        self._libraries = libraries
        self._thread = threading.Thread(target=self._load, name="warm-up", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Wait until everything is loaded, which takes at most some seconds (idempotent)."""
        if self._thread.is_alive():
            self._thread.join()

    def _load(self) -> None:
        for library in self._libraries:
            importlib.import_module(library)
        try:
            self._app.ports.tokens.count("")
        except SkeinError as error:
            logger.error("the tokenizer cannot count: %s", error)  # noqa: TRY400 - one line for the user
