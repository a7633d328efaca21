"""Feature flags by Powertools' rules, from AWS AppConfig or from a file.

See https://docs.aws.amazon.com/powertools/python/latest/utilities/feature_flags/ for the form.
"""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from aws_lambda_powertools.utilities.feature_flags import AppConfigStore, FeatureFlags
from aws_lambda_powertools.utilities.feature_flags.base import StoreProvider
from aws_lambda_powertools.utilities.feature_flags.exceptions import (
    ConfigurationStoreError,
    SchemaValidationError,
    StoreClientError,
)
from aws_lambda_powertools.utilities.feature_flags.schema import SchemaValidator

from skein.ports import Clock
from skein.settings import Settings

KEPT_FOR = timedelta(seconds=60)  # AppConfig wants no more than one question a minute
CALL_SECONDS = 1  # a person waits meanwhile
FAULTS = (ConfigurationStoreError, StoreClientError, SchemaValidationError, OSError, ValueError)

Fetch = Callable[[], dict[str, Any]]

logger = logging.getLogger(__name__)


class PowertoolsFlags:
    """`Flags` from a document of flags; see `skein.ports.Flags`.

    Args:
        fetch: Gets the document; may raise any of `FAULTS`.
        clock: The time.
        kept_for: How long a document, or a failure to get one, is good for.
    """

    def __init__(self, fetch: Fetch, clock: Clock, *, kept_for: timedelta = KEPT_FOR) -> None:
        self._flags = FeatureFlags(_LastGood(fetch, clock, kept_for))

    def evaluate(self, name: str, about: Mapping[str, Any], default: object) -> object:
        """See `skein.ports.Flags`."""
        value: object = self._flags.evaluate(name=name, context=dict(about), default=default)  # type: ignore[arg-type]
        return value


class _LastGood(StoreProvider):
    """The last good document, whatever has become of the store since."""

    def __init__(self, fetch: Fetch, clock: Clock, kept_for: timedelta) -> None:
        self._fetch = fetch
        self._clock = clock
        self._kept_for = kept_for
        self._asked_at: datetime | None = None
        self._good: dict[str, Any] | None = None
        self._lock = threading.Lock()

    @property
    def get_raw_configuration(self) -> dict[str, Any]:
        """The document."""
        return self.get_configuration()

    def get_configuration(self) -> dict[str, Any]:
        """The document, gotten anew when it is older than it may be.

        Raises:
            ConfigurationStoreError: There never was a good one.
        """
        with self._lock:
            now = self._clock.now()
            if self._asked_at is None or now >= self._asked_at + self._kept_for:
                self._asked_at = now
                try:
                    document = self._fetch()
                    SchemaValidator(schema=document).validate()
                    self._good = document
                except FAULTS as error:
                    logger.warning("the flags could not be read", exc_info=error)
            if self._good is None:
                raise ConfigurationStoreError("no flags are known")
            return self._good


def from_file(path: Path) -> Fetch:
    """Gets flags from a JSON file."""

    def fetch() -> dict[str, Any]:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return document

    return fetch


def from_app_config(settings: Settings, client: Callable[[], Any] | None = None) -> Fetch:
    """Gets flags from AWS AppConfig.

    Args:
        settings: Which application, environment and profile.
        client: Makes another client than AWS's own.
    """
    known: list[AppConfigStore] = []

    def fetch() -> dict[str, Any]:
        # A session that failed may be over for good, so the next question begins a new one.
        store = known.pop() if known else _app_config_store(settings, client)
        document = store.get_raw_configuration
        known.append(store)
        return document

    return fetch


def _app_config_store(settings: Settings, client: Callable[[], Any] | None) -> AppConfigStore:
    from botocore.config import Config

    quick = Config(
        connect_timeout=CALL_SECONDS,
        read_timeout=CALL_SECONDS,
        retries={"mode": "standard", "total_max_attempts": 1},
    )
    return AppConfigStore(
        application=settings.flags_application,
        environment=settings.flags_environment,
        name=settings.flags_profile,
        max_age=0,  # it is kept here, by our clock
        boto_config=None if client else quick,
        boto3_client=client() if client else None,
    )
