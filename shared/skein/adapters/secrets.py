"""Secrets in AWS Secrets Manager, kept for a few minutes so that a webhook seldom asks."""

import json
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from skein.adapters.aws import Aws
from skein.adapters.aws_errors import AWS_ERRORS, meaning_of
from skein.errors import MissingSecret
from skein.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

KEPT_FOR = timedelta(minutes=5)

READ_SECONDS = 3
TRIES = 3

# Secrets Manager says one of these when there is nothing to be read under a name.
ABSENT = frozenset(
    {"ResourceNotFoundException", "InvalidRequestException", "InvalidParameterException"}
)


def secrets_client(aws: Aws) -> "SecretsManagerClient":
    """A client for Secrets Manager."""
    client: SecretsManagerClient = aws.client(
        "secretsmanager", read_seconds=READ_SECONDS, tries=TRIES
    )
    return client


class SecretsManager:
    """`Secrets` in Secrets Manager; each secret is a JSON object of texts.

    Args:
        client: A client such as `secrets_client` makes.
        clock: By which a secret grows old after 5 minutes.
    """

    def __init__(self, client: "SecretsManagerClient", clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._kept: dict[str, tuple[datetime, Mapping[str, str]]] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Mapping[str, str]:
        """See `skein.ports.Secrets`."""
        now = self._clock.now()
        with self._lock:
            read_at, fields = self._kept.get(name, (None, {}))
            if read_at is None or not read_at <= now < read_at + KEPT_FOR:
                fields = self._read(name)
                self._kept[name] = (now, fields)
            return fields

    def _read(self, name: str) -> Mapping[str, str]:
        if not name:
            raise MissingSecret("no secret is named in the settings")
        try:
            found = self._client.get_secret_value(SecretId=name)
        except AWS_ERRORS as error:
            # A time-out has a response, too, and it is None.
            answer = error.response if isinstance(error, ClientError) else {}
            if answer.get("Error", {}).get("Code") in ABSENT:
                raise MissingSecret(f"there is no secret {name!r}") from error
            raise meaning_of(error, writing=False) from error
        return parsed(name, found.get("SecretString"))


def parsed(name: str, text: str | None) -> Mapping[str, str]:
    """The fields of a secret.

    Raises:
        MissingSecret: It is no JSON object of texts. What it is instead is not told.
    """
    try:
        fields: Any = json.loads(text or "")
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        raise MissingSecret(f"the secret {name!r} is no JSON object of texts")
    return fields
