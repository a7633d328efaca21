"""Secrets in AWS Secrets Manager, cached for a few minutes."""

import json
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from skein.adapters.aws.clients import Aws
from skein.adapters.aws.errors import AWS_ERRORS, meaning_of
from skein.errors import MissingSecret
from skein.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

KEPT_FOR = timedelta(minutes=5)

READ_SECONDS = 3
TRIES = 3

# The error codes of Secrets Manager for a secret that does not exist or cannot be read.
ABSENT = frozenset(
    {"ResourceNotFoundException", "InvalidRequestException", "InvalidParameterException"}
)


def secrets_client(aws: Aws) -> "SecretsManagerClient":
    client: SecretsManagerClient = aws.client(
        "secretsmanager", read_seconds=READ_SECONDS, tries=TRIES
    )
    return client


class SecretsManager:
    """`Secrets` in Secrets Manager; each secret is a JSON object of strings.

    Args:
        client: A client, for example from `secrets_client`.
        clock: The clock for the cache, which keeps a secret for 5 minutes.
    """

    def __init__(self, client: "SecretsManagerClient", clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._kept: dict[str, tuple[datetime, Mapping[str, str]]] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Mapping[str, str]:
        now = self._clock.now()
        with self._lock:
            read_at, fields = self._kept.get(name, (None, {}))
            if read_at is None or not read_at <= now < read_at + KEPT_FOR:
                fields = self._read(name)
                self._kept[name] = (now, fields)
            return fields

    def _read(self, name: str) -> Mapping[str, str]:
        if not name:
            raise MissingSecret("the settings name no secret")
        try:
            found = self._client.get_secret_value(SecretId=name)
        except AWS_ERRORS as error:
            # A time-out has the attribute `response`, too, but its value is None.
            answer = error.response if isinstance(error, ClientError) else {}
            if answer.get("Error", {}).get("Code") in ABSENT:
                raise MissingSecret(f"secret not found: {name!r}") from error
            raise meaning_of(error, writing=False) from error
        return parsed(name, found.get("SecretString"))


def parsed(name: str, text: str | None) -> Mapping[str, str]:
    """Parse the fields of a secret.

    Raises:
        MissingSecret: The secret is not a JSON object of strings. The error's message does not
            quote the secret.
    """
    try:
        fields: Any = json.loads(text or "")
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        raise MissingSecret(f"the secret {name!r} is not a JSON object of strings")
    return fields
