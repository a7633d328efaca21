"""Prices, quotas and paces from `bench/prices.toml`, and what of them the command line changes."""

import tomllib
from typing import Any

from pydantic import BaseModel, ConfigDict

from bench.scale.meter import Pace
from local.template import ROOT

FILE = ROOT / "bench" / "prices.toml"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class About(_Part):
    """Where and when the prices were those."""

    region: str
    as_of: str


class DynamoDb(_Part):
    """Of request units by the million, and of GiB."""

    write_million: float
    read_million: float
    gib_month: float
    backup_gib_month: float


class Lambda(_Part):
    """Of functions."""

    gib_second: float
    request_million: float


class Sqs(_Part):
    """Of queues."""

    request_million: float
    requests_of_a_job: int


class HttpApi(_Part):
    """Of the gateway."""

    request_million: float


class WebSocketApi(_Part):
    """Prices of the gateway of the live channel."""

    message_million: float
    minute_million: float


class Logs(_Part):
    """Of log lines taken in."""

    gib: float


class Quotas(_Part):
    """What AWS gives before anybody asks for more; by the second unless they say otherwise."""

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
    """How long things are taken to last."""

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
        """Of calls, in a function of so much memory."""
        return Pace(self.wire_ms, self.processor_ms, memory_mib)


class Mix(_Part):
    """What a message brings with it, besides its answer."""

    upkeep_rounds: float
    chats_remembered: float


class Assumptions(_Part):
    """All of the file."""

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
        """From the file, with other paces if they are given."""
        said: dict[str, Any] = tomllib.loads(FILE.read_text(encoding="utf-8"))
        said["lambda_"] = said.pop("lambda")
        said["pace"] |= {name: value for name, value in paces.items() if value is not None}
        return cls.model_validate(said)
