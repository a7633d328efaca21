"""Warnings about agents whose model the provider does not list."""

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from skein.errors import SkeinError
from skein.models.api.directory import AgentWarning
from skein.models.directory.agent import Agent
from skein.ports import Clock, ModelList
from skein.settings import MODEL_ADAPTERS, Settings

LIST_SECONDS = 3.0  # the time-out of a list, while an operator waits
CACHE_SECONDS = 60

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class ModelWarnings:
    """Compares agents' models with the provider's list of models, which is cached for a minute."""

    model_list: ModelList
    clock: Clock
    settings: Settings
    _listed: frozenset[str] = field(default=frozenset(), init=False)
    _expires_at: datetime | None = field(default=None, init=False)

    def of(self, agent: Agent) -> tuple[AgentWarning, ...]:
        """Return the warnings about an agent.

        There is no warning if the provider lists no models or cannot be asked.
        """
        name = agent.model or self.settings.default_model
        if name.partition("/")[0] in {*self.settings.model_providers, *MODEL_ADAPTERS}:
            return ()  # the list is the default provider's
        listed = self._current_list()
        if not listed or name in listed:
            return ()
        default = "" if agent.model else ", which is the default model of the deployment"
        message = (
            f"The provider does not list the model {name}{default}. "
            "Runs of this agent may not be answered."
        )
        return (AgentWarning(code="unlisted_model", message=message),)

    def _current_list(self) -> frozenset[str]:
        now = self.clock.now()
        if self._expires_at is None or now >= self._expires_at:
            try:
                self._listed = self.model_list.models(seconds=LIST_SECONDS)
            except SkeinError as error:
                logger.warning("models not listed", exc_info=error)
                self._listed = frozenset()
            self._expires_at = now + timedelta(seconds=CACHE_SECONDS)
        return self._listed
