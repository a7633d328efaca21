"""Prices, quotas and paces from `bench/prices.toml`; the command line may change paces."""

import tomllib
from typing import Any

from pydantic import BaseModel, ConfigDict

from bench.scale.meter import Pace
from local.template import ROOT

FILE = ROOT / "bench" / "prices.toml"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class About(_Part):
    """The region and the date of the prices."""

    region: str
    as_of: str


class DynamoDb(_Part):
    """Prices of DynamoDB: a million request units, and a GiB for a month."""

    write_million: float
    read_million: float
    gib_month: float
    backup_gib_month: float


class Lambda(_Part):
    """Prices of Lambda."""

    gib_second: float
    request_million: float


class Sqs(_Part):
    """Prices of SQS."""

    request_million: float
    requests_of_a_job: int


class HttpApi(_Part):
    """Prices of the HTTP API."""

    request_million: float


class WebSocketApi(_Part):
    """Prices of the gateway of the live channel."""

    message_million: float
    minute_million: float


class Logs(_Part):
    """Prices of CloudWatch Logs."""

    gib: float


class Quotas(_Part):
    """AWS's default quotas, per second unless the name says otherwise."""

    partition_reads: int
    partition_writes: int
    table_reads: int
    table_writes: int
    new_table_reads: int
    new_table_writes: int
    concurrency: int
    more_in_ten_seconds: int
    event_source_concurrency: int
    event_source_more_in_a_minute: int
    in_flight: int
    api_requests: int


class Paces(_Part):
    """Assumed durations."""

    wire_ms: float
    processor_ms: float
    own_ms: float
    model_seconds: float
    light_model_seconds: float
    remembering_seconds: float
    twilio_seconds: float
    ping_seconds: float
    log_kib: float

    def of(self, memory_mib: int) -> Pace:
        """Return the pace of calls in a function with this memory."""
        return Pace(self.wire_ms, self.processor_ms, memory_mib)


class Mix(_Part):
    """Background work per message, besides its answer."""

    upkeep_rounds: float
    chats_remembered: float


class Assumptions(_Part):
    """The contents of the file."""

    about: About
    dynamodb: DynamoDb
    lambda_: Lambda
    sqs: Sqs
    http_api: HttpApi
    websocket_api: WebSocketApi
    logs: Logs
    quotas: Quotas
    pace: Paces
    mix: Mix

    @classmethod
    def load(cls, **paces: float | None) -> "Assumptions":
        """Load the file, and replace the given paces."""
        said: dict[str, Any] = tomllib.loads(FILE.read_text(encoding="utf-8"))
        said["lambda_"] = said.pop("lambda")
        said["pace"] |= {name: value for name, value in paces.items() if value is not None}
        return cls.model_validate(said)
